import { describe, expect, test } from 'vitest';
import type { Told, Warned } from '../../../src/cli/facts/index.js';
import { createReporter, type ReporterOptions } from '../../../src/cli/output/reporter.js';
import { IdleClock } from '../../support/clock.js';
import {
  aJobEvent,
  aPlan,
  aPlanEvent,
  aProgress,
  aSummary,
  factsAbout,
  withRejections,
} from '../../support/runs.js';
import { bare, sink } from '../../support/sink.js';

interface Given extends Partial<Pick<ReporterOptions, 'mode' | 'env' | 'flags'>> {
  stdout?: Parameters<typeof sink>[0];
  stderr?: Parameters<typeof sink>[0];
}

/** Reports events as an import would, the clock a second further before each, and gives what came out. */
async function told(events: Told[], { mode = 'text', env = {}, flags = {}, ...streams }: Given = {}) {
  const [stdout, stderr] = [sink(streams.stdout), sink(streams.stderr)];
  const clock = new IdleClock(new Date(2026, 0, 15, 12, 3, 5).getTime());
  const reporter = createReporter({
    mode,
    stdout,
    stderr,
    env,
    cwd: '/',
    flags,
    clock,
  });
  for (const event of events) {
    await reporter.report(event);
    clock.advance(1_000);
  }
  await reporter.close();
  return { stdout: stdout.text(), stderr: stderr.text() };
}

const submitted: Told = {
  type: 'submitted',
  request: 1,
  kind: 'companies',
  file: 'companies.csv',
  first_line: 2,
  last_line: 1001,
  rows: 997,
  job_id: 'job-1',
};
const retry: Told = {
  type: 'retry',
  request: 1,
  attempt: 1,
  delay_ms: 1_500,
  reason: 'connection \u001b[2Jreset',
  maybe_sent_twice: true,
};
const ended = (summary = aSummary(), warnings?: Warned[]): Told => ({
  type: 'summary',
  facts: factsAbout(summary, warnings && { warnings }),
});
const course: Told[] = [
  aProgress('planning', 997, { total_rows: null, bytes: 10, total_bytes: 10 }),
  aPlanEvent(),
  { type: 'warning', message: 'column zip was an integer last time' },
  aProgress('sending', 0),
  submitted,
  retry,
  { type: 'notice', message: 'the older run is superseded' },
  { type: 'rejected', file: 'companies.csv', line: 17, reason: 'no company_id' },
  aJobEvent({ job_id: 'job-1', status: 'processing', completed_rows: 100 }),
  aJobEvent({ job_id: 'job-1', completed_rows: 5_000 }),
  aProgress('following', 5_000),
  aProgress('following', 5_000),
  ended(),
];

describe('text', () => {
  test('in a pipe: plain lines with the time, then the summary; stdout stays empty', async () => {
    const { stdout, stderr } = await told(course);
    expect(stdout).toBe('');
    expect(stderr.split('\n').slice(0, 7)).toEqual([
      '12:03:05 planning companies 997 rows',
      '12:03:06 50,000 rows: 50,000 to send in 10 requests (4 MiB)',
      '12:03:07 warning: column zip was an integer last time',
      '12:03:10 retry: request 1 in 1.5s: connection \\x1b[2Jreset; its rows may be sent twice',
      '12:03:10 sending companies 0 of 50,000 rows',
      '12:03:11 the older run is superseded',
      expect.stringMatching(/^12:03:15 sending companies 5,000 of 50,000 rows completed, 1 of 1 job ended$/),
    ]);
    expect(stderr).toContain('\n✓ completed after 1.9s\n');
    expect(stderr).not.toContain('\u001b');
  });

  test('at a terminal: a live region that is gone before the summary, lines that stay above it', async () => {
    const { stderr } = await told(course, { stderr: { columns: 80 } });
    const [live, after] = stderr.split('\u001b[?25h');
    expect(bare(live!)).toContain('✓ 50,000 rows: 50,000 to send in 10 requests (4 MiB)');
    expect(bare(live!)).toContain('✓ job-1  completed');
    expect(bare(after!)).toMatch(/^✓ completed after 1\.9s\n/);
  });

  test('the cursor is shown again when it ends without a summary', async () => {
    const { stderr } = await told(course.slice(0, 5), { stderr: { columns: 80 } });
    expect(stderr.lastIndexOf('\u001b[?25h')).toBeGreaterThan(stderr.lastIndexOf('\u001b[?25l'));
  });

  test.each<[string, Given]>([
    ['TERM=dumb', { env: { TERM: 'dumb' } }],
    ['PROFILES_PROGRESS=plain', { env: { PROFILES_PROGRESS: 'plain' } }],
    ['a terminal of no width', { stderr: { columns: 0 }, env: { NO_COLOR: '1' } }],
    ['CI without color', { env: { CI: 'true', NO_COLOR: '1' } }],
  ])('%s: no control sequence at all', async (_name, given) => {
    const { stderr } = await told(course, { stderr: { columns: 80 }, ...given });
    expect(stderr).toContain('sending companies');
    expect(stderr).not.toContain('\u001b');
  });

  test('PROFILES_PROGRESS=none: no progress, but warnings and the summary', async () => {
    const { stderr } = await told(course, { env: { PROFILES_PROGRESS: 'none' } });
    expect(stderr).not.toContain('sending');
    expect(stderr).toContain('warning: column zip');
    expect(stderr).toContain('✓ completed');
  });

  test('--quiet: nothing on success, one sentence otherwise', async () => {
    expect(await told(course, { flags: { quiet: true }, stderr: { columns: 80 } })).toEqual({
      stdout: '',
      stderr: '',
    });
    const { stderr } = await told([...course.slice(0, -1), ended(withRejections(2))], {
      flags: { quiet: true },
    });
    expect(stderr).toMatch(/^profiles: some rows were rejected: .*companies\.rejects\.csv\n$/);
  });

  test('--dry-run: the plan is the result, so it is on stdout, also when quiet', async () => {
    const planned = ended(aSummary({ run: null, status: 'planned', plan: aPlan(), jobs: [], requests: 0 }));
    const loud = await told([planned]);
    expect(loud.stdout).toMatch(/^Files\n/);
    expect(loud.stderr).toMatch(/^✓ planned; nothing was sent/);
    expect(await told([planned], { flags: { quiet: true } })).toEqual({ stdout: loud.stdout, stderr: '' });
  });
});

describe('json', () => {
  test('one document on stdout; stderr is the same, without the summary', async () => {
    const { stdout, stderr } = await told(course, { mode: 'json' });
    const document = { version: 1, ...aSummary() };
    expect(JSON.parse(stdout)).toEqual(document);
    expect(stdout).toBe(`${JSON.stringify(document, null, 2)}\n`);
    expect(stderr).toContain('warning: column zip');
    expect(stderr).not.toContain('✓');
  });

  test('nothing on stdout when there is no summary', async () => {
    expect((await told(course.slice(0, 4), { mode: 'json' })).stdout).toBe('');
  });

  test('at a terminal, it has the same content and no control characters', async () => {
    const summary = aSummary({ region: 'a\u009b2J\u202e' });
    const { stdout } = await told([ended(summary)], { mode: 'json', stdout: { columns: 80 } });
    expect(JSON.parse(stdout)).toEqual({ version: 1, ...summary });
    expect(stdout).not.toMatch(/[\u0080-\u009f\u202e]/);
  });
});

describe('ndjson', () => {
  test('each event but progress and notices, with type, time and version', async () => {
    const { stdout } = await told(course, { mode: 'ndjson' });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ type }) => type)).toEqual([
      'plan',
      'warning',
      'submitted',
      'retry',
      'rejected',
      'job',
      'job',
      'summary',
    ]);
    for (const line of lines) {
      expect(Object.keys(line).slice(0, 3)).toEqual(['type', 'time', 'version']);
      expect(line.version).toBe(1);
      expect(new Date(line.time as string).toISOString()).toBe(line.time);
    }
    expect(lines[2]).toMatchObject({ request: 1, job_id: 'job-1', first_line: 2 });
    expect(lines[5]).toMatchObject({
      kind: 'companies',
      rows: 5_000,
      job: { job_id: 'job-1', status: 'processing' },
    });
    expect(lines[7]).toEqual({ type: 'summary', time: expect.any(String), version: 1, ...aSummary() });
  });

  test('if stdout is the same terminal, there is no live region', async () => {
    const { stderr } = await told(course, {
      mode: 'ndjson',
      stdout: { columns: 80 },
      stderr: { columns: 80 },
    });
    expect(stderr).not.toContain('\u001b[?25l');
    expect(stderr).not.toContain('sending');
  });
});

test('in GitHub Actions, what was said about a layout before is not annotated again', async () => {
  const said: Warned[] = [{ message: 'new' }, { message: 'old', isKnown: true }];
  const events = said.map((warned): Told => ({ type: 'warning', ...warned }));
  const { stderr } = await told([...events, ended(aSummary(), said)], { env: { GITHUB_ACTIONS: 'true' } });
  expect(stderr).toContain('::warning::new\n');
  expect(stderr).not.toContain('::warning::old');
  expect(stderr).toContain('warning: old\n');
});

describe('in GitHub Actions', () => {
  test.each(['text', 'json', 'ndjson'] as const)(
    '%s: rejected rows become annotations on stderr',
    async (mode) => {
      const { stdout, stderr } = await told([ended(withRejections(25))], {
        mode,
        env: { GITHUB_ACTIONS: 'true' },
      });
      expect(
        stderr.match(/^::error file=companies\.csv,line=\d+::1 row: reason \d+; line \d+$/gm),
      ).toHaveLength(10);
      expect(stdout).not.toContain('::error');
    },
  );

  test('elsewhere they do not', async () => {
    expect((await told([ended(withRejections(25))])).stderr).not.toContain('::error');
  });
});

test('if stdout fails, the error is reported, and the summary is on stderr', async () => {
  const stdout = sink();
  stdout.on('error', () => {});
  stdout._write = (_chunk, _encoding, done) =>
    done(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }));
  const stderr = sink();
  const reporter = createReporter({
    mode: 'ndjson',
    stdout,
    stderr,
    env: {},
    cwd: '/',
    flags: {},
    clock: new IdleClock(),
  });
  expect(reporter.lost()).toBeNull();
  await reporter.report(submitted);
  expect(reporter.lost()?.message).toBe('stdout cannot be written: no space left on device (ENOSPC)');
  await reporter.report(ended());
  await reporter.close();
  expect(stderr.text()).toContain('  rows      ');
});
