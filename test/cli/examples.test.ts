/** Every example of every help page works as it stands, in a folder with the files that it names, against the embedded service. */
import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import type { World } from '../../src/cli/context.js';
import { COMMANDS, commandTree } from '../../src/cli/main.js';
import { cli, scratch } from '../support/cli.js';
import { shellWords } from '../support/sh.js';
import { hurried } from './place.js';
import { saidOf } from './said.js';

const FIXTURES = resolve(import.meta.dirname, '../../fixtures');
const TOKEN = 'key-7f3b91c2d4e8a6054';

/** Lines below `Examples`, without the prompt. */
function examplesOf(command: Command): string[] {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return [...(help.split('\nExamples\n')[1] ?? '').matchAll(/^ {2}\$ (.*)$/gm)].map(([, line]) => line!);
}

async function allExamples(): Promise<[command: string, line: string][]> {
  // Only `stdout` is looked at while the tree is made.
  const world = { stdout: new PassThrough() } as unknown as World;
  const wire = () => async () => {};
  const found: [string, string][] = [];
  const collect = (command: Command, path: string): void => {
    for (const line of examplesOf(command)) found.push([path, line]);
    for (const child of command.createHelp().visibleCommands(command))
      collect(child, `${path} ${child.name()}`);
  };
  for (const line of examplesOf(await commandTree([], world, wire))) found.push(['profiles', line]);
  for (const { name } of COMMANDS) {
    const tree = await commandTree([name], world, wire);
    collect(tree.commands.find((command) => command.name() === name)!, `profiles ${name}`);
  }
  return found;
}

const template = scratch();
/** Two jobs, and a run that can be resumed. */
const real: { jobs: string[]; run: string } = { jobs: [], run: '' };

beforeAll(async () => {
  for (const file of ['companies.csv', 'users.csv', 'users.ndjson'])
    copyFileSync(join(FIXTURES, file), join(template, file));
  writeFileSync(join(template, 'export.csv'), 'Symbol,Name\nAAA,Acme\n');
  writeFileSync(join(template, 'crm.json'), '{"kind":"companies","id":"Symbol"}');
  writeFileSync(join(template, 'token.txt'), TOKEN, { mode: 0o600 });
  for (const [line, ends] of [
    ['import companies.csv users.csv', 0],
    ['import companies.csv --save-plan plan.json', 0],
    ['import users.csv --wait 1ms', 3],
  ] as const) {
    const words = [...line.split(' '), '--region', 'sandbox', '--json'];
    const { code, stdout, stderr } = await cli(words, { cwd: template, clock: hurried });
    expect({ code, stderr }).toEqual({ code: ends, stderr: saidOf({ ends }) });
    const { run, jobs } = JSON.parse(stdout) as { run: string; jobs: { job_id: string }[] };
    if (ends === 0 && jobs.length > 0) real.jobs = jobs.map(({ job_id }) => job_id);
    if (ends !== 0) real.run = run;
  }
});

/** The line with this machine's ids in the place of those that it shows, and a folder in the place of a database. */
function withRealIds(line: string): string {
  let job = 0;
  return line
    .replace(/urn:profiles:job:default\/[0-9a-f]{8}-\d+/g, () => real.jobs[job++]!)
    .replace(/\b\d{8}-\d{6}-[a-z0-9]{4}\b/g, real.run)
    .replace(/postgres:\/\/[^\s']+/, 'sqlite:database');
}

const examples = await allExamples();

it('examples look realistic', () => {
  expect(examples.length).toBeGreaterThan(50);
  for (const [path, line] of examples) expect(line.startsWith(path)).toBe(true);
});

describe.each(examples)('%s', (_, line) => {
  it(line, async () => {
    const cwd = scratch();
    cpSync(template, cwd, { recursive: true });
    const [command = '', input] = withRealIds(line).split(' < ');
    const serves = /^profiles sandbox --/.test(line);
    const { code, stdout, stderr } = await cli(shellWords(command).slice(1), {
      cwd,
      clock: hurried,
      ...(input === undefined ? {} : { stdin: readFileSync(join(cwd, input)) }),
      // Examples with a service of one's own are rehearsed.
      ...(/^profiles import (?!.*--region)/.test(line) ? { env: { PROFILES_REGION: 'sandbox' } } : {}),
      // A server runs until it is stopped: here as soon as it listens.
      ...(serves ? { stop: AbortSignal.abort('SIGINT') } : {}),
    });
    if (line.includes('--failed')) {
      // Nothing has failed here: a job of the embedded sandbox fails only where that is asked for.
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('no finished import'),
      });
      return;
    }
    expect({ code, stderr }).toEqual({ code: 0, stderr: saidOf({ ends: 0 }) });
    expect(stdout + stderr).not.toContain(TOKEN);
    if (line.includes('--json')) expect(JSON.parse(stdout)).toBeTypeOf('object');
  });
});
