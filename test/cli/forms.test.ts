/**
 * What a script can rely on, of every command in success and in failure: stdout, stderr and exit code, in each form. And
 * whatever the form: the API key is in nothing that is printed or left behind, and what rows hold is in no log and no state.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/main.js';
import { type CliResult, cli, scratch } from '../support/cli.js';
import { atTerminal } from './commands/terminal.js';
import { INVOCATIONS, type Invocation, WRONG_TOKEN } from './invocations.js';
import { CANARY, makePlace, type Place, type RunOptions, run, TOKEN } from './place.js';
import { saidOf } from './said.js';

let place: Place;
beforeAll(async () => {
  place = await makePlace();
});
afterAll(() => place.stop());

/** Names of the files below a folder that hold the text, as bytes. */
function filesWith(text: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text))
    .map((file) => relative(folder, file))
    .sort();
}

const KEEPS_TOKEN = ['.config/profiles/config.json', 'token.txt'];
/** What one rehearses with, and the stdin of a run that can be resumed. */
const KEEPS_ROWS = /^(sandbox\.db|spool\/)/;

/** Runs a line, and looks for secrets in all that it printed and left. */
async function kept(invocation: Invocation, options: RunOptions): Promise<CliResult> {
  const { folder, ...result } = await run(place, invocation, options);
  const printed = result.stdout + result.stderr;
  for (const token of [TOKEN, WRONG_TOKEN]) {
    expect(printed).not.toContain(token);
    expect(filesWith(token, folder).filter((file) => !KEEPS_TOKEN.includes(file))).toEqual([]);
  }
  const log = printed.split('\n').filter((line) => line.startsWith('debug:'));
  expect(log.join('\n')).not.toContain(CANARY);
  const state = filesWith(CANARY, join(folder, '.state'));
  expect(state.filter((file) => !KEEPS_ROWS.test(file))).toEqual([]);
  return result;
}

const named = (invocations: readonly Invocation[]): [string, Invocation][] =>
  invocations.map((invocation) => [`${invocation.line} -> ${invocation.ends}`, invocation]);

it('the table has every command, with a success and a failure', () => {
  const cases = (ends: (code: number) => boolean): Set<string> =>
    new Set(INVOCATIONS.filter(({ ends: code }) => ends(code)).map(({ line }) => line.split(' ')[0]!));
  const names = COMMANDS.map(({ name }) => name);
  expect([...cases((code) => code === 0)]).toEqual(expect.arrayContaining(names));
  expect([...cases((code) => code !== 0)]).toEqual(expect.arrayContaining(names));
});

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

/** The error object that ends stderr, and nothing beside it (contract §6). */
function expectErrorLine(stderr: string): void {
  const { error, ...rest } = JSON.parse(lastLine(stderr)) as { error: Record<string, unknown> };
  expect(rest).toEqual({});
  expect(error).toEqual({
    code: expect.stringMatching(/^[a-z_]+$/),
    message: expect.stringMatching(/\S/),
    hint: error.hint === null ? null : expect.stringMatching(/\S/),
    status: error.status === null ? null : expect.any(Number),
    request_id: error.request_id === null ? null : expect.any(String),
  });
}

describe('--json', () => {
  it.each(named(INVOCATIONS.filter(({ textOnly }) => !textOnly)))('%s', async (_, invocation) => {
    const { code, stdout, stderr } = await kept(invocation, { flags: ['--debug', '--json'], inGitHub: true });
    expect({ code, stderr }).toEqual({ code: invocation.ends, stderr: saidOf(invocation) });
    if (code === 0) expect(stderr).not.toContain('"error"');
    else expectErrorLine(stderr);
    if (code === 0 || stdout !== '') expect(JSON.parse(stdout)).toBeTypeOf('object');
    if (stdout !== '') expect(stdout).toMatch(/\n$/);
  });
});

describe('--ndjson', () => {
  it.each(named(INVOCATIONS.filter(({ ndjson }) => ndjson)))('%s', async (_, invocation) => {
    const { code, stdout, stderr } = await kept(invocation, { flags: ['--ndjson'] });
    expect({ code, stderr }).toEqual({ code: invocation.ends, stderr: saidOf(invocation) });
    for (const line of stdout.split('\n').slice(0, -1)) expect(JSON.parse(line)).toBeTypeOf('object');
    expect(stdout).toMatch(/^$|\n$/);
  });
});

/** Control characters other than line ends: nothing that a terminal would obey. */
// biome-ignore lint/complexity/useRegexLiterals: escapes in a string can be read
const CONTROL = new RegExp('[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f]');

describe('text, and --quiet', () => {
  it.each(named(INVOCATIONS))('%s', async (_, invocation) => {
    const loud = await kept(invocation, { token: 'config' });
    await kept(invocation, { flags: ['--debug'], token: 'config' });
    expect({ code: loud.code, stderr: loud.stderr }).toEqual({
      code: invocation.ends,
      stderr: saidOf(invocation),
    });
    const text = loud.stdout + loud.stderr;
    expect(text).not.toMatch(CONTROL);
    expect(text).toMatch(/\S\n$/);
    expect(text).not.toMatch(/\bundefined\b|\[object|\bNaN\b/);

    const { code, stdout, stderr } = await kept(invocation, { flags: ['--quiet'], token: 'file' });
    expect({ code, stderr }).toEqual({
      code: invocation.ends,
      stderr: code === 0 ? '' : saidOf(invocation),
    });
    // A failure is never silent, and what was asked for is still there.
    if (code !== 0) expect(stderr + stdout).not.toBe('');
    expect(stdout === '').toBe(loud.stdout === '');
  });
});

// The wait is a second of real time: the other job must have failed by then, on a busy machine too.
it('a failed job decides the exit code before a wait that timed out', async () => {
  const { code, stdout, stderr } = await run(
    place,
    {
      line: 'import companies.csv --chunk-size 5 --concurrency 2 --wait 20s',
      ends: 7,
      faults: ['fail-job:nth=1', 'stuck-job:nth=2'],
    },
    { flags: ['--json'] },
  );
  expect(code).toBe(7);
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'timed_out',
    resume: expect.stringMatching(/^profiles resume /),
  });
  expectErrorLine(stderr);
});

describe('a token typed at a prompt', () => {
  it.each([
    [['config', 'set', 'token'], [{ at: 'API key (hidden): ', type: `${TOKEN}\n` }]],
    [
      ['config', 'init', '--region', 'eu', '--base-url', 'https://api.example.com'],
      [
        { at: 'Host for lookup lists (https://…): ', type: 'https://lookups.example.com\n' },
        { at: 'API key, hidden as you type [none]: ', type: `${TOKEN}\n` },
      ],
    ],
  ])('%j', async (argv, turns) => {
    const cwd = scratch();
    const { code, stdout, screen } = await atTerminal([...argv, '--debug', '--json'], turns, { cwd });
    expect(code).toBe(0);
    expect(stdout + screen).not.toContain(TOKEN);
    expect(filesWith(TOKEN, cwd)).toEqual(['.config/profiles/config.json']);
    for (const line of [
      'config list',
      'config list --json',
      'config get token',
      'doctor -o request_timeout=10ms',
    ]) {
      const shown = await cli([...line.split(' '), '--debug'], { cwd });
      expect(shown.stdout).toContain(`…${TOKEN.slice(-4)}`);
      expect(shown.stdout + shown.stderr).not.toContain(TOKEN);
    }
  });
});

it('the test can find a secret: the token is in its file, and rows are in a rehearsal', () => {
  const folder = place.folder();
  expect(filesWith(TOKEN, folder)).toEqual(['token.txt']);
  expect(filesWith(CANARY, join(folder, '.state'))).toContainEqual(expect.stringMatching(KEEPS_ROWS));
});
