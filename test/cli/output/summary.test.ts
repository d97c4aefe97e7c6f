import { describe, expect, test } from 'vitest';
import { shellWord } from '../../../src/cli/advice/shell.js';
import { planText } from '../../../src/cli/output/plan.js';
import { failureLines, summaryLines } from '../../../src/cli/output/summary.js';
import { stylesFor } from '../../../src/cli/output/terminal.js';
import {
  aCause,
  aJob,
  aPlan,
  aStep,
  aSummary,
  type Ended,
  factsAbout,
  withRejections,
} from '../../support/runs.js';

const plain = stylesFor(false);
const lines = (over: Partial<Ended> = {}): string[] => summaryLines(factsAbout(aSummary(over)), plain);

describe('summaryLines', () => {
  test('when all went well', () => {
    expect(lines()).toEqual([
      '✓ completed after 1.9s',
      '  to        account production, region eu, https://api.test',
      '  rows      997 read = 997 submitted (997 completed)',
      '  requests  1',
      '  job       job-1  completed  997 rows, lines 2-1001',
    ]);
  });

  test('a job of one row has one line', () => {
    expect(lines({ jobs: [aJob({ first_line: 2, last_line: 2 })] }).at(-1)).toMatch(/, line 2$/);
  });

  test.each([
    ['planned', '✓ planned; nothing was sent'],
    ['rejected', '✗ nothing was sent: rows are invalid'],
  ] as const)('%s: a time after "nothing was sent" would read as its reason', (status, first) => {
    expect(lines({ status })[0]).toBe(first);
  });

  test('rejected rows: the first ten causes, all rows in the file', () => {
    const text = summaryLines(factsAbout(withRejections(25)), plain);
    expect(text).toContain('  rows      1,022 read = 25 rejected + 997 submitted (997 completed)');
    expect(text.slice(-12)).toEqual([
      '  25 rows rejected:',
      ...Array.from({ length: 10 }, (_, i) => `    1 row: reason ${i}; line ${17 + i}`),
      '    and 15 more causes, see companies.rejects.csv',
    ]);
  });

  test('few rejected rows: all causes, and still the file', () => {
    expect(summaryLines(factsAbout(withRejections(1)), plain).slice(-3)).toEqual([
      '  1 row rejected:',
      '    1 row: reason 0; line 17',
      '    see companies.rejects.csv',
    ]);
  });

  test('a cause has its column, how many rows, an example, and what helps', () => {
    const causes = [
      aCause({
        column: 'Annual Revenue',
        reason: 'contains "$" or ","',
        rows: 4_971,
        first_line: 2,
        example: '"$1,234.00"',
        hint: "--type 'Annual Revenue=money' reads them",
      }),
      aCause({ column: 'company_id', reason: 'is empty', rows: 2, at: 'item 9' }),
    ];
    expect(summaryLines(factsAbout(withRejections(4_973, { causes })), plain).slice(-5)).toEqual([
      '  4,973 rows rejected:',
      '    Annual Revenue: 4,971 rows contain "$" or ","; e.g. line 2 "$1,234.00"',
      "      --type 'Annual Revenue=money' reads them",
      '    company_id: 2 rows are empty; e.g. item 9',
      '    see companies.rejects.csv',
    ]);
  });

  test('a dry run with rejected rows is not a success', () => {
    const { rows } = withRejections(2);
    const [first, ...rest] = summaryLines(factsAbout(withRejections(2, { status: 'planned', rows })), plain);
    expect(first).toBe('✗ planned; nothing was sent');
    expect(rest).toContain('  2 rows would be rejected:');
    expect(failureLines(factsAbout(withRejections(2, { status: 'planned', rows })), plain)[0]).toMatch(
      /^profiles: some rows would be rejected: /,
    );
  });

  test('what may have been sent twice is named', () => {
    const where = { file: 'companies.csv', first_line: 2, last_line: 501 };
    const entry = { ...where, rows: 500, reason: 'connection reset', job_id: 'job-1' };
    expect(lines({ retries: 1, maybe_sent_twice: [entry, { ...entry, job_id: null }] }).slice(-3)).toEqual([
      '  sent again because the outcome was unknown (safe, because requests are upserts):',
      '    lines 2-501 (500 rows, job job-1): connection reset',
      '    lines 2-501 (500 rows): connection reset',
    ]);
    expect(lines({ retries: 1 })).toContain('  requests  1, 1 retry');
  });

  test('lines are named with their file if there are several', () => {
    const files = ['a.csv', 'b.csv'].map((path) => ({ ...aSummary().files[0]!, path }));
    const twice = { file: 'b.csv', first_line: 2, last_line: 3, rows: 2, reason: 'reset', job_id: null };
    const text = lines({
      files,
      jobs: [aJob({ file: 'a.csv' }), aJob({ job_id: 'job-2', file: 'b.csv' })],
      maybe_sent_twice: [twice],
    });
    expect(text).toContain('  job       job-1  completed  997 rows, a.csv lines 2-1001');
    expect(text).toContain('  job       job-2  completed  997 rows, b.csv lines 2-1001');
    expect(text).toContain('    b.csv lines 2-3 (2 rows): reset');
  });

  test('without a host, it says so', () => {
    expect(lines({ status: 'planned', account: null, region: 'default', base_url: '' })[1]).toBe(
      '  to        region default, no host set',
    );
  });

  test.each([
    ['submitted', '✓ accepted in 1.9s; the jobs continue'],
    ['timed_out', '! timed out after 1.9s; the jobs continue'],
    ['stopped', '✗ stopped early (1.9s)'],
    ['planned', '✓ planned; nothing was sent'],
  ] as const)('%s: the time belongs to the first clause', (status, headline) => {
    expect(lines({ status })[0]).toBe(headline);
  });

  test('stopped early: unsent rows, unfinished jobs, and how to continue', () => {
    const text = lines({
      status: 'interrupted',
      rows: {
        read: 1_500,
        filtered: 0,
        rejected: 0,
        merged: 1,
        unchanged: 2,
        submitted: 997,
        completed: 100,
        unsent: 500,
      },
      jobs: [aJob({ status: 'processing', completed_rows: 100 })],
      next: [aStep('profiles resume run-1')],
    });
    expect(text[0]).toBe('! interrupted after 1.9s');
    expect(text).toContain(
      '  rows      1,500 read = 1 merged + 2 unchanged + 997 submitted + 500 unsent (100 completed)',
    );
    expect(text).toContain('  job       job-1  processing  100 of 997 rows, lines 2-1001');
    expect(text.slice(-2)).toEqual(['  continue with:', '    profiles resume run-1']);
  });

  test('short and failed jobs come before any number of completed ones', () => {
    const jobs = [
      ...Array.from({ length: 30 }, (_, i) => aJob({ job_id: `good-${i}` })),
      aJob({ job_id: 'bad', status: 'failed', completed_rows: 3, message: 'plan limit' }),
    ];
    const text = lines({ status: 'failed', jobs }).filter((line) => /job|more/.test(line));
    expect(text[0]).toBe('✗ a job failed after 1.9s');
    expect(text[1]).toBe('  job       bad  failed  3 of 997 rows, lines 2-1001: plan limit');
    expect(text.at(-1)).toBe('            and 21 more jobs');
  });

  test('what to do next: a command is alone on its line, and a long one breaks at its options', () => {
    const host = `https://${'x'.repeat(60)}`;
    const next = [
      aStep('profiles job job-1 --watch', 'follow with'),
      aStep(`profiles resume run-1 --failed --base-url ${host} --state 'it is --a folder'`),
    ];
    expect(lines({ next }).slice(-6)).toEqual([
      '  follow with:',
      '    profiles job job-1 --watch',
      '  continue with:',
      '    profiles resume run-1 --failed \\',
      `      --base-url ${host} \\`,
      "      --state 'it is --a folder'",
    ]);
  });

  test('nothing from files or the service can control the terminal', () => {
    const evil = '\u001b[2J\u202e\nx';
    const text = summaryLines(
      factsAbout(
        withRejections(1, {
          account: evil,
          region: evil,
          next: [aStep(`profiles resume ${shellWord(evil)}`, evil)],
          causes: [aCause({ file: evil, column: evil, reason: evil, hint: evil, example: evil })],
          files: [evil, 'b.csv'].map((path) => ({
            path,
            kind: 'users',
            rows: { read: 1, filtered: 0, rejected: 1 },
            rejects_file: evil,
          })),
          jobs: [aJob({ job_id: evil, status: evil, file: evil })],
          maybe_sent_twice: [
            { file: evil, first_line: 1, last_line: 2, rows: 1, reason: evil, job_id: evil },
          ],
        }),
      ),
      plain,
    );
    expect(text.join('')).not.toMatch(/[\u0000-\u001f\u202e]/);
  });
});

describe('failureLines', () => {
  test('empty on success', () => {
    expect(failureLines(factsAbout(aSummary()), plain)).toEqual([]);
    expect(failureLines(factsAbout(aSummary({ status: 'planned' })), plain)).toEqual([]);
  });

  test('otherwise one sentence with where to look', () => {
    expect(failureLines(factsAbout(withRejections(2)), plain)).toEqual([
      'profiles: some rows were rejected: 999 read = 2 rejected + 997 submitted (997 completed), see companies.rejects.csv',
    ]);
  });
});

describe('what exit code 5 means', () => {
  test.each<[words: string, over: Partial<Ended>]>([
    ['some rows were rejected', { rows: { ...aSummary().rows, rejected: 1 } }],
    [
      'a job completed fewer rows than it was sent',
      { rows: { ...aSummary().rows, completed: 996 }, jobs: [aJob({ completed_rows: 996 })] },
    ],
    [
      'some rows were accepted, but the service no longer knows their job',
      { jobs: [aJob({ status: 'unknown' })] },
    ],
    ['some rows were accepted, but the reply names no job to follow', { jobs: [] }],
  ])('%s', (words, over) => {
    const summary = aSummary({ status: 'partial', ...over });
    expect(summaryLines(factsAbout(summary), plain)[0]).toMatch(
      new RegExp(`^! partially completed after .*: ${words}$`),
    );
  });
});

describe('planText', () => {
  test('piped', () => {
    expect(planText(aPlan(), { width: null, color: false })).toBe(`Files
file           kind       format   encoding    rows  rejected
companies.csv  companies  csv (;)  utf-8     50,000         2

Columns of companies.csv
column      key         type    empty  why
company_id  company_id  string      0  identifier
zip         zip         string  1,204  row 17: "02139"
note        (left out)              0  excluded

To send
  requests    10
  bytes       4 MiB
  duplicates  3 rows
  time        about 25s

First item of companies.csv
{
  "company_id": "1",
  "metadata": {
    "zip": "02139",
    "name": "株式会社"
  }
}
`);
  });

  test('no estimate without past jobs, and no sample without rows', () => {
    const plan = aPlan({ estimated_seconds: null, duplicates: 0 });
    plan.files[0]!.sample = null;
    const text = planText(plan, { width: null, color: false });
    expect(text).toContain('  time        unknown: this account has no past jobs to estimate from\n');
    expect(text).not.toContain('First item');
  });

  test('keys compared with the service', () => {
    const properties = {
      new: ['color', 'size'],
      near: [{ key: 'plan_teir', like: 'plan_tier' }],
      types: [{ key: 'seats', here: 'string', service: 'integer' }],
    };
    const tail = (plan = aPlan({ properties })): string[] =>
      planText(plan, { width: null, color: false })
        .split('Keys compared with the service\n')[1]!
        .trimEnd()
        .split('\n');
    expect(tail()).toEqual([
      '  plan_teir: unknown; did you mean plan_tier?',
      '  seats: string here, integer in the service',
      '  new: color, size',
    ]);
    expect(tail(aPlan({ properties: { new: [], near: [], types: [] } }))).toEqual([
      '  all keys are known, with the same types',
    ]);
  });
});
