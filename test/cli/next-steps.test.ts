/** What to run next, by how an import ended and by the command line that ran it. */
import { describe, expect, test } from 'vitest';
import { commandsOf } from '../../src/cli/advice/commands.js';
import { type Known, nextSteps } from '../../src/cli/advice/next.js';
import type { Summary } from '../../src/engine/model.js';
import type { Problem } from '../../src/engine/problems.js';
import { aCause, aJob, aSummary } from '../support/runs.js';

type About = Omit<Partial<Known>, 'commands'>;

function nextOf(line: string, over: Partial<Summary>, known: About = {}): string[] {
  const commands = commandsOf({ argv: line.split(' '), world: { env: {}, platform: 'linux', cwd: '/' } });
  return nextSteps(aSummary(over), { commands, failed: [], ...known }).map(
    ({ what, command }) => `${what}: ${command}`,
  );
}

const rows = (rejected: number): Summary['rows'] => ({ ...aSummary().rows, rejected });
const REJECTED: Partial<Summary> = {
  rows: { ...rows(2), unsent: 995 },
  files: [{ ...aSummary().files[0]!, rejects_file: 'a.rejects.csv' }],
};
const KEEP = 'send the valid rows, and keep the others in the rejects file';
const FIX = 'fix the rows in a.rejects.csv, then import it: profiles import a.rejects.csv';

describe('a dry run', () => {
  const toSend = { ...rows(0), submitted: 0, completed: 0, unsent: 997 };
  const nothing = { ...rows(2), submitted: 0, completed: 0, unchanged: 995 };
  const planned: Partial<Summary> = { status: 'planned', run: null, jobs: [], rows: toSend };
  const DRY = 'import a.csv --region eu -o retries=2 --dry-run';

  test.each<[string, string, Partial<Summary>, About, string[]]>([
    ['all rows are valid', DRY, {}, {}, ['send it with: profiles import a.csv -o retries=2 --region eu']],
    ['no row has changed', `${DRY} --changed-only`, { rows: { ...nothing, rejected: 0 } }, {}, []],
    [
      'no valid row has changed',
      `${DRY} --changed-only`,
      { ...REJECTED, rows: nothing },
      {},
      [`${KEEP}: profiles import a.csv -o retries=2 --changed-only --skip-invalid --region eu`],
    ],
    [
      'some are not',
      DRY,
      REJECTED,
      {},
      [`${KEEP}: profiles import a.csv -o retries=2 --skip-invalid --region eu`],
    ],
    [
      'the valid ones are sent',
      `${DRY} --skip-invalid`,
      REJECTED,
      { sendsValid: true },
      ['send it with: profiles import a.csv -o retries=2 --skip-invalid --region eu'],
    ],
    [
      'more are invalid than allowed',
      `${DRY} --max-invalid 1`,
      REJECTED,
      { sendsValid: false },
      [`${KEEP}: profiles import a.csv -o retries=2 --skip-invalid --region eu`],
    ],
  ])('%s', (_, line, over, known, steps) => {
    expect(nextOf(line, { ...planned, ...over }, known)).toEqual(steps);
  });

  const SAVED = `${DRY} --save-plan p.json`;
  const plan = 'p.json';
  test.each<[string, string, Partial<Summary>, About, string[]]>([
    ['all rows are valid', SAVED, {}, { plan }, ['send it with: profiles apply p.json --region eu']],
    [
      'some are not',
      SAVED,
      REJECTED,
      { plan },
      [
        'save a plan of the valid rows, and keep the others in the rejects file: profiles import a.csv -o retries=2 --save-plan p.json --skip-invalid --region eu',
      ],
    ],
    [
      'the valid ones are sent',
      `${SAVED} --skip-invalid`,
      REJECTED,
      { plan, sendsValid: true },
      ['send it with: profiles apply p.json --region eu'],
    ],
    [
      'too many have changed',
      `${SAVED} --changed-only --max-changed 1 --canary 5`,
      { status: 'held' },
      { plan },
      ['if these changes are right, send them: profiles apply p.json --max-changed 100% --region eu'],
    ],
  ])('that saves its plan: %s', (_, line, over, known, steps) => {
    expect(nextOf(line, { ...planned, ...over }, known)).toEqual(steps);
  });
});

test('a dry run has no outcomes', () => {
  expect(nextOf('import a.csv --changed-only --max-changed 0 --outcomes o.csv', { status: 'held' })).toEqual([
    'see what would be sent: profiles import a.csv --changed-only --max-changed 0 --dry-run',
    'if these changes are right, send them: profiles import a.csv --changed-only --outcomes o.csv --max-changed 100%',
  ]);
});

test.each([
  ['import a.csv', 'import a.csv', { status: 'rejected' }, {}],
  [
    'import a.csv --save-plan p.json',
    'import a.csv --save-plan p.json',
    { status: 'planned', run: null, jobs: [] },
    { plan: 'p.json' },
  ],
] as const)('%s: where no row is valid, none is to be sent', (line, again, over, known) => {
  const none = { ...rows(2), read: 3, filtered: 1, submitted: 0, completed: 0 };
  expect(nextOf(line, { ...REJECTED, ...over, jobs: [], rows: none }, known)).toEqual([
    `no row is valid: fix companies.csv, then import again: profiles ${again}`,
  ]);
});

describe('rows are invalid, and nothing was sent', () => {
  const rejected = (causes: readonly Problem[], more: Partial<Summary> = {}): Partial<Summary> => ({
    ...REJECTED,
    status: 'rejected',
    jobs: [],
    causes: causes.map((problem) => aCause({ problem })),
    ...more,
  });
  const money: Problem = {
    code: 'cells_of_other_type',
    column: 'Annual Revenue',
    type: 'money',
    isWider: true,
  };

  test('the flags that read them come first, in place of those that do not', () => {
    const line = ['import', 'a.csv', '--type', 'Annual Revenue=number', '--type', 'n=integer'];
    const commands = commandsOf({ argv: line, world: { env: {}, platform: 'linux', cwd: '/' } });
    const [step, ...more] = nextSteps(
      aSummary(rejected([money, { code: 'short_rows' }, { code: 'stray_quotes' }])),
      {
        commands,
        failed: [],
      },
    );
    expect([step, more]).toMatchObject([
      {
        what: 'import again with what reads the rejected rows',
        command: "profiles import a.csv --type n=integer --type 'Annual Revenue=money' --lenient-quotes",
      },
      [],
    ]);
  });

  test('a flag that reads the rows of several causes is named once', () => {
    const causes: Problem[] = [{ code: 'stray_quotes' }, { code: 'white_space' }, { code: 'stray_quotes' }];
    expect(nextOf('import a.csv', rejected(causes))).toEqual([
      'import again with what reads the rejected rows: profiles import a.csv --lenient-quotes --trim',
    ]);
  });

  test('of a setting, the value that is enough for all causes replaces the one that was typed', () => {
    const deeper = (needed: number) => ({ code: 'over_limit', option: 'maxDepth', needed }) as const;
    const causes = [deeper(70), deeper(90), deeper(80)];
    expect(nextOf('import a.json -o max_depth=65 -o max_columns=9', rejected(causes))).toEqual([
      'import again with what reads the rejected rows: profiles import a.json -o max_columns=9 -o max_depth=90',
    ]);
  });

  test.each<[string, readonly Problem[]]>([
    ['no flag reads them', [{ code: 'short_rows' }]],
    ['another type would change the other rows', [{ ...money, isWider: undefined } as never]],
    ['it is not known why', []],
  ])('otherwise the valid rows are sent: %s', (_, causes) => {
    expect(nextOf('import a.csv --max-invalid 1%', rejected(causes))).toEqual([
      `${KEEP}: profiles import a.csv --skip-invalid`,
    ]);
  });

  test('a dry run stays one, and the rejects file is not named before the valid rows are sent', () => {
    const dry = rejected([{ code: 'white_space' }], { status: 'planned', run: null });
    expect(nextOf('import a.csv --dry-run', dry)).toEqual([
      'import again with what reads the rejected rows: profiles import a.csv --dry-run --trim',
    ]);
    expect(nextOf('import a.csv --skip-invalid', { ...REJECTED, status: 'partial' })).toEqual([FIX]);
  });
});

describe('unfinished jobs are followed if no other step continues them', () => {
  const open = [aJob({ status: 'queued' }), aJob({ job_id: 'job-2' })];
  const FOLLOW = 'follow with: profiles job job-1 --watch';

  test.each<[string, Partial<Summary>, string[]]>([
    ['all rows were accepted', { status: 'submitted' }, [FOLLOW]],
    ['some rows were rejected', { status: 'partial', ...REJECTED }, [FOLLOW, FIX]],
    [
      'a resume follows them',
      { status: 'partial', resume: 'run-1' },
      ['continue with: profiles resume run-1'],
    ],
  ])('%s', (_, over, steps) => {
    expect(nextOf('import a.csv --no-wait', { jobs: open, ...over })).toEqual(steps);
  });

  test('a job that the service no longer knows is not followed', () => {
    const jobs = [aJob({ status: 'unknown' })];
    expect(nextOf('import a.csv', { status: 'partial', jobs })).toEqual([
      'see what became of its rows: profiles runs run-1',
    ]);
  });
});

test('values of --set that were repeated for a resume are named once', () => {
  const over: Partial<Summary> = { status: 'partial', ...REJECTED };
  expect(nextOf('resume --set x=1', over, { set: ['x=1', 'y=2'] })).toEqual([`${FIX} --set x=1 --set y=2`]);
});
