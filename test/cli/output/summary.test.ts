import { describe, expect, test } from 'vitest';
import { Commands } from '../../../src/cli/advice/commands.js';
import { shellWord } from '../../../src/cli/advice/shell.js';
import { planText } from '../../../src/cli/output/plan.js';
import { errorLines, summaryLines } from '../../../src/cli/output/summary.js';
import { stylesFor } from '../../../src/cli/output/terminal.js';
import { ServiceError } from '../../../src/engine/errors.js';
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
  test('rejected rows: the first ten causes, all rows in the file', () => {
    const text = summaryLines(factsAbout(withRejections(25)), plain);
    expect(text).toContain('  rows      1,022 read = 25 rejected + 997 submitted (997 completed)');
    expect(text.slice(-12)).toEqual([
      '  25 rows rejected:',
      ...Array.from({ length: 10 }, (_, i) => `    1 row: reason ${i}; line ${17 + i}`),
      '    and 15 more causes, see companies.rejects.csv',
    ]);
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
    ['some rows are in no completed job; the warnings say why', { jobs: [] }],
  ])('%s', (words, over) => {
    const summary = aSummary({ status: 'partial', ...over });
    expect(summaryLines(factsAbout(summary), plain)[0]).toMatch(
      new RegExp(`^! partially completed after .*: ${words}$`),
    );
  });
});

describe('planText', () => {
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

describe('errorLines', () => {
  const commands = new Commands({ argv: [], world: { env: {}, platform: 'linux', cwd: '/' } });

  test('an unexpected error is exit 1, with its stack only for --debug', () => {
    const bug = new TypeError('x is not a function');
    expect(errorLines(bug, {}, commands)).toMatchObject({
      exit: 1,
      text: expect.stringContaining('--debug to see where'),
    });
    expect(errorLines(bug, {}, commands).text).not.toContain('summary.test.ts');
    expect(errorLines(bug, { debug: true }, commands).text).toContain('summary.test.ts');
    expect(
      JSON.parse(errorLines('thrown text', { json: true }, commands).text.trimEnd().split('\n').at(-1)!),
    ).toMatchObject({
      error: { code: 'unexpected', message: 'thrown text', status: null },
    });
  });

  test('it has no control characters', () => {
    const evil = 'a\u001b[2J\u009b2J\u202e\r\nb';
    const error = new ServiceError(evil, { hint: evil, requestId: evil });
    const { text } = errorLines(error, { json: true, debug: true }, commands);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(JSON.parse(text.trimEnd().split('\n').at(-1)!)).toMatchObject({
      error: { hint: evil, request_id: evil },
    });
  });
});
