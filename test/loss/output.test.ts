/** Output that cannot be written (contract §4): one sentence, sending stops in good order, and a resume loses nothing. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { BIN, built, type Ended } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { stateEnv } from '../support/state.js';
import { balance, elevenCompanies, Machine } from './support.js';

const file = elevenCompanies();
const SEND = `import ${file.path} --chunk-size 4 -o interval=5ms`;
const FULL = 'no space left on device (ENOSPC)';

let service: FaultServer;
let machine: Machine;
beforeAll(built);
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
});
afterEach(() => service.stop());

/** Runs a line of bash, in which `profiles` is the built command. */
async function bash(line: string): Promise<Ended> {
  const child = spawn('bash', ['-c', `profiles() { "${process.execPath}" "${BIN}" "$@"; }; ${line}`], {
    cwd: machine.folder,
    env: {
      PATH: process.env.PATH,
      HOME: machine.folder,
      PROFILES_STATE_DIR: join(machine.folder, '.state'),
      ...stateEnv(join(machine.folder, '.state')),
      ...machine.env,
    },
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  child.stdin.end();
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  expect(texts.stderr).not.toMatch(/^\s+at |node:internal|Uncaught/m);
  return { code, signal, ...texts };
}

/** The sentences that begin with the program's name. */
const sentences = (stderr: string): string[] =>
  stderr
    .split('\n')
    .filter((line) => line.startsWith('profiles: stdout') || line.startsWith('profiles: stderr'));

describe.skipIf(!existsSync('/dev/full'))('to a full device', () => {
  test.each([
    '--ndjson > /dev/full',
    '--ndjson > /dev/full 2>/dev/full',
    '2>/dev/full',
    '--json 2>/dev/full',
  ])('an import stops before it sends, and is resumable: %s', async (redirected) => {
    const ended = await bash(`${'profiles '}${SEND} ${redirected}`);
    expect(ended.code, ended.stderr).toBe(1);
    expect(service.seen.submit).toBeLessThanOrEqual(1);
    const [run] = await machine.runs();
    expect(run).toMatchObject({ status: 'stopped', summary: { status: 'stopped' } });
    if (redirected === '--ndjson > /dev/full') {
      expect(sentences(ended.stderr)).toEqual([`profiles: stdout cannot be written: ${FULL}`]);
      expect(ended.stderr.replaceAll(/ \\\n +/g, ' ')).toContain(`profiles resume ${run!.run} --base-url `);
      expect(ended.stderr).toContain('✗ stopped early');
    }
    if (redirected === '--json 2>/dev/full') {
      expect(JSON.parse(ended.stdout)).toMatchObject({
        status: 'stopped',
        resume: expect.stringContaining(`profiles resume ${run!.run} --base-url `),
      });
    }
    const last = await machine.run(['resume']);
    expect(last.code, last.stderr).toBe(0);
    expect(last.summary!.maybe_sent_twice).toEqual([]);
    await balance(last.summary!, machine, service, file);
    expect(service.ledger.profiles.companies.size).toBe(11);
  });

  test('an import whose document is lost says its summary on stderr', async () => {
    const ended = await bash(`profiles ${SEND} --json > /dev/full`);
    expect(ended.code, ended.stderr).toBe(1);
    expect(ended.stderr).toContain('✓ completed');
    expect(sentences(ended.stderr)).toEqual([`profiles: stdout cannot be written: ${FULL}`]);
    const last = JSON.parse(ended.stderr.trimEnd().split('\n').at(-1)!);
    expect(last.error).toMatchObject({ code: 'output', message: `stdout cannot be written: ${FULL}` });
    expect((await machine.runs())[0]).toMatchObject({ status: 'completed' });
  });

  test.each([
    '--version',
    '--help',
    'runs --help',
    'completion bash',
    `${SEND} --dry-run`,
    'runs --json',
    'help exit-codes',
  ])('%s', async (line) => {
    const ended = await bash(`profiles ${line} > /dev/full`);
    expect(ended.code, ended.stderr).toBe(1);
    expect(sentences(ended.stderr)).toEqual([`profiles: stdout cannot be written: ${FULL}`]);
    expect((await bash(`profiles ${line} > /dev/full 2>&1`)).code).toBe(1);
  });
});

test('to a file on a disk with room for a part of it', async () => {
  const folder = join(machine.folder, 'disk');
  mkdirSync(folder);
  let limit = '';
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', folder], { stdio: 'ignore' });
    onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  } catch {
    limit = 'ulimit -f 4; ';
  }
  const whole = await bash('profiles import --help; profiles import --help');
  const ended = await bash(`${limit}{ profiles import --help; profiles import --help; } > disk/help`);
  expect(whole.stdout.length).toBeGreaterThan(4096);
  expect(ended.code, ended.stderr).toBe(1);
  expect(ended.stderr).toMatch(/^profiles: stdout cannot be written: .* \((ENOSPC|EFBIG)\)$/m);
  expect(whole.stdout.startsWith(readFileSync(join(folder, 'help'), 'utf8'))).toBe(true);
});
