import { describe, expect, test } from 'vitest';
import type { Context } from '../../../src/cli/context.js';
import type { Told, Warned } from '../../../src/cli/facts/index.js';
import { createReporter, type How } from '../../../src/cli/output/reporter.js';
import { IdleClock } from '../../support/clock.js';
import {
  aJobEvent,
  aPlanEvent,
  aProgress,
  aSummary,
  factsAbout,
  withRejections,
} from '../../support/runs.js';
import { bare, sink } from '../../support/sink.js';

interface Given extends Partial<Pick<Context, 'env' | 'flags'>> {
  mode?: How['mode'];
  stdout?: Parameters<typeof sink>[0];
  stderr?: Parameters<typeof sink>[0];
}

/** Reports events as an import would, the clock a second further before each, and gives what came out. */
async function told(events: Told[], { mode = 'text', env = {}, flags = {}, ...streams }: Given = {}) {
  const [stdout, stderr] = [sink(streams.stdout), sink(streams.stderr)];
  const clock = new IdleClock(new Date(2026, 0, 15, 12, 3, 5).getTime());
  const place = { cwd: '/', platform: 'linux' } as const;
  const reporter = createReporter({ mode, form: 'shared' }, { ...place, stdout, stderr, env, flags, clock });
  for (const event of events) {
    await reporter.report(event);
    clock.pass(1_000);
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
});

describe('json', () => {
  test('at a terminal, it has the same content and no control characters', async () => {
    const summary = aSummary({ region: 'a\u009b2J\u202e' });
    const { stdout } = await told([ended(summary)], { mode: 'json', stdout: { columns: 80 } });
    expect(JSON.parse(stdout)).toEqual({ version: 1, ...summary });
    expect(stdout).not.toMatch(/[\u0080-\u009f\u202e]/);
  });
});

describe('ndjson', () => {
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
});

test('if stdout fails, the error is reported, and the summary is on stderr', async () => {
  const stdout = sink();
  stdout.on('error', () => {});
  stdout._write = (_chunk, _encoding, done) =>
    done(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }));
  const stderr = sink();
  const reporter = createReporter(
    { mode: 'ndjson', form: 'shared' },
    { stdout, stderr, env: {}, cwd: '/', flags: {}, platform: 'linux', clock: new IdleClock() },
  );
  expect(reporter.lost()).toBeNull();
  await reporter.report(submitted);
  expect(reporter.lost()?.message).toBe('stdout cannot be written: no space left on device (ENOSPC)');
  await reporter.report(ended());
  await reporter.close();
  expect(stderr.text()).toContain('  rows      ');
});
