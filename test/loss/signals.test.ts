/** Signals, pipes and terminals that go away, in real processes (contract §4 "Ctrl-C"). */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { BIN, built, program } from '../support/child.js';
import type { Strike } from '../support/fault-server.js';
import { workspace } from '../support/workspace.js';
import { fates, status } from './faults.js';
import { balance, elevenCompanies } from './support.js';

const file = elevenCompanies();
const IN_CHUNKS = `import ${file.path} -o interval=5ms --chunk-size`;
const SEND = `${IN_CHUNKS} 4`;

const { service, machine, run } = workspace({ [file.path]: file.text });
const start = machine.start.bind(machine);
beforeAll(built);

/** Holds the answers to submissions from the nth on; `arrival` resolves when one is held. */
function holdFrom(nth: number): { arrival: Promise<void>; release(): void } {
  let [arrived, release] = [(): void => {}, (): void => {}];
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held: Strike = async (exchange) => {
    await exchange.accept();
    arrived();
    await released;
    await exchange.acknowledge();
  };
  service.trouble = { submit: (n) => (n >= nth ? held : undefined) };
  return { arrival, release };
}

/** The report of the newest run, as it is kept. */
async function report(): Promise<Summary> {
  const [newest] = await machine.runs();
  await balance(newest!.summary, machine, service, file);
  return newest!.summary;
}

async function resumes(twice: object[]): Promise<void> {
  service.trouble = {};
  const last = await run('resume');
  expect(last.code, last.stderr).toBe(0);
  expect(last.summary!.maybe_sent_twice).toMatchObject(twice);
  await balance(last.summary!, machine, service, file);
  expect(service.ledger.profiles.companies.size).toBe(11);
}

describe.each([
  ['SIGINT', 130, 'press Ctrl-C again'],
  ['SIGTERM', 143, 'send a second SIGTERM'],
  ['SIGHUP', 143, 'send a second SIGHUP'],
] as const)('%s', (signal, code, again) => {
  test('once: the request in flight finishes; ids and the way on are printed', async () => {
    const { arrival, release } = holdFrom(2);
    const child = start(SEND);
    await arrival;
    child.kill(signal);
    await child.says(`stopping after the request in flight; ${again} to stop now`);
    release();
    const ended = await child.ended;
    expect(ended.code, ended.stderr).toBe(code);
    const summary = await report();
    expect(ended.stderr).toContain(`profiles resume ${summary.run}`);
    for (const id of ['job-1', 'job-2']) expect(ended.stderr).toContain(id);
    expect(summary).toMatchObject({
      status: 'interrupted',
      rows: { submitted: 7, unsent: 4 },
      maybe_sent_twice: [],
    });
    expect(service.seen.submit).toBe(2);
    await resumes([]);
    expect(service.seen.submit).toBe(3);
  });

  test('twice: ends now, and what was in flight is named when it is sent again', async () => {
    const { arrival } = holdFrom(2);
    const child = start(SEND);
    await arrival;
    child.kill(signal);
    await child.says('stopping');
    child.kill(signal);
    const ended = await child.ended;
    expect(ended.code, ended.stderr).toBe(code);
    const summary = await report();
    expect(ended.stderr).toContain(`profiles resume ${summary.run}`);
    expect(summary.rows).toMatchObject({ submitted: 3, unknown: 4, unsent: 4 });
    await resumes([{ first_line: 6, last_line: 9, reason: 'interrupted while it was sent' }]);
  });
});

describe('Ctrl-C at once ends', () => {
  test.each([
    ['a job', '4', 3],
    ['the last job', '12', 11],
  ])('the wait for %s', async (_, chunkSize, submitted) => {
    service.trouble = { fate: () => fates.stuck };
    const child = start(`${IN_CHUNKS} ${chunkSize} --json`);
    await once(service.events, 'poll');
    child.kill('SIGINT');
    const ended = await child.ended;
    expect(ended.code, ended.stderr).toBe(130);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      status: 'interrupted',
      rows: { submitted },
      // Whether the answer to the first poll was still read does not matter.
      jobs: [{ job_id: 'job-1', status: expect.stringMatching(/^(?:queued|processing)$/) }],
      resume: expect.stringMatching(/^(?:PROFILES_STATE_DIR=\S+ )?profiles resume \d/),
    });
    await resumes([]);
  });

  test('a backoff of an hour', async () => {
    service.trouble = { submit: (nth) => (nth >= 2 ? status(503, { 'retry-after': '3600' }) : undefined) };
    const child = start(`${SEND} -o max_retry_after=2h`);
    await child.says('retry: request 2 in');
    child.kill('SIGINT');
    const ended = await child.ended;
    expect(ended.code, ended.stderr).toBe(130);
    expect((await report()).rows).toMatchObject({ submitted: 3, unsent: 8 });
    await resumes([]);
  });

  test('a poll that is not answered', async () => {
    service.trouble = { poll: () => () => {} };
    const child = start(SEND);
    await once(service.events, 'poll');
    child.kill('SIGINT');
    expect((await child.ended).code).toBe(130);
    await resumes([]);
  });

  test('a check of doctor that is not answered', async () => {
    service.trouble = { poll: () => () => {} };
    const child = start('doctor');
    await once(service.events, 'poll');
    child.kill('SIGINT');
    const { code, stderr } = await child.ended;
    expect([code, stderr]).toEqual([130, 'profiles: interrupted\n']);
  });

  test('reading from a pipe that stays open', async () => {
    const child = start('import - --id company_id', { stdin: null });
    child.process.stdin!.write(file.text);
    // Nothing tells that it has begun to read but that it has started: its state is there.
    await child.has('.state/spool');
    child.kill('SIGINT');
    const ended = await child.ended;
    expect(ended.code, ended.stderr).toBe(130);
    expect(service.connections).toBe(0);
    expect(await machine.runs()).toEqual([]);
  });
});

describe('while the input is read', () => {
  /** Rows of three bytes: 16 MiB of them for each 16 KiB of the file. */
  const rows = gzipSync('c1\n'.repeat((16 * 2 ** 20) / 3));
  test.each([
    ['on this thread', 30],
    ['by workers', 80],
  ])('a file that unpacks to a thousand times its size, %s', async (_, members) => {
    const packed = [gzipSync('company_id\n'), ...Array.from({ length: members }, () => rows)];
    machine.write('large.csv.gz', Buffer.concat(packed));
    const child = start('import large.csv.gz');
    await child.says('planning');
    child.kill('SIGTERM');
    // Reading all of it takes a minute and more.
    await expect.poll(() => child.process.exitCode, { timeout: 20_000 }).toBe(143);
    expect(service.connections).toBe(0);
    expect(await machine.runs()).toEqual([]);
  });

  describe.skipIf(process.platform === 'win32')('a FIFO that nobody writes to', () => {
    beforeEach(() => void execFileSync('mkfifo', [machine.path('fifo')]));

    test.each(['import', 'inspect'])('as the file of %s is refused at once', async (command) => {
      const child = start(`${command} fifo`);
      await expect.poll(() => child.process.exitCode).toBe(2);
      expect((await child.ended).stderr).toContain('fifo: is not a regular file');
    });

    test('as stdin ends with the signal', async () => {
      const line = `exec "${process.execPath}" "${BIN}" import - --id company_id <> fifo`;
      const child = program(['bash', '-c', line], { cwd: machine.folder, env: machine.env });
      await expect.poll(() => existsSync(machine.path('.state/spool'))).toBe(true);
      child.kill('SIGINT');
      expect((await child.ended).code).toBe(130);
    });
  });

  test.skipIf(process.platform === 'win32').each([
    { line: 'apply fifo', signal: 'SIGINT', exit: 130 },
    { line: `${SEND} --mapping fifo`, signal: 'SIGTERM', exit: 143 },
    { line: 'runs --config fifo', signal: 'SIGTERM', exit: 143 },
    { line: 'doctor --config fifo', signal: 'SIGINT', exit: 130 },
  ] as const)('$line, which brings nothing, ends with $signal', async ({ line, signal, exit }) => {
    const fifo = machine.path('fifo');
    execFileSync('mkfifo', [fifo]);
    const child = start(line);
    const writer = await open(fifo, 'w'); // waits until the command has opened it
    child.kill(signal);
    await expect.poll(() => child.process.exitCode).toBe(exit);
    await writer.close();
    expect((await child.ended).stderr).toContain('interrupted');
  });
});

test.each(['--ndjson |', '--json |', '|', '2>&1 |'])(
  'a reader that leaves does not stop an import: %s',
  async (to) => {
    const { code, stdout } = await machine.bash(`profiles ${SEND} ${to} head -n 1; exit \${PIPESTATUS[0]}`);
    expect(code).toBe(0);
    if (to === '--ndjson |') expect(JSON.parse(stdout)).toMatchObject({ type: 'warning' });
    expect(await report()).toMatchObject({ status: 'completed', rows: { submitted: 11 } });
  },
);
