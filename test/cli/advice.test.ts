/** Hints whose words or commands depend on the problem, the command line, or the shell. */
import { describe, expect, test } from 'vitest';
import { type Changes, Commands } from '../../src/cli/advice/commands.js';
import { type Known, nextSteps } from '../../src/cli/advice/next.js';
import { errorWords, warningText, wordsOf } from '../../src/cli/advice/words.js';
import { factsOf } from '../../src/cli/facts/index.js';
import { Hearing } from '../../src/cli/facts/session.js';
import { InputError, StateError, UsageError } from '../../src/engine/errors.js';
import type { ImportEvent } from '../../src/engine/events.js';
import type { Summary } from '../../src/engine/model.js';
import type { Problem, ProblemOf } from '../../src/engine/problems.js';
import { aCause, aJob, aSummary } from '../support/runs.js';

const commands = new Commands({ argv: [], world: { env: {}, platform: 'linux', cwd: '/' } });

const typedAs = (line: string): Commands =>
  new Commands({ argv: line.split(' '), world: { env: {}, platform: 'linux', cwd: '/' } });

const CASES: {
  [C in Problem['code']]?: [data: Omit<ProblemOf<C>, 'code'>, hint: string | undefined, message?: string];
} = {
  rows_in_sheet: [
    {
      path: 'a.xlsx',
      sheets: ['All firms', 'Users'],
      otherwise: { path: 'a.xlsx', paths: ['a.xlsx'], kind: 'companies', column: 'Firm', company: null },
    },
    "if the rows are in the sheet All firms:\n  profiles import a.xlsx --sheet 'All firms'\nif the rows are in the sheet Users:\n  profiles import a.xlsx --sheet Users\nif the rows are companies by Firm:\n  profiles import a.xlsx --kind companies --id Firm",
  ],
  not_private: [{ path: '/var/my state', command: 'chmod go-rwx' }, "chmod go-rwx '/var/my state'"],
  import_running: [{ run: 'run-1' }, 'wait for it to end; to see its progress:\n  profiles runs run-1'],
  plan_elsewhere: [
    { region: 'eu', account: 'my account' },
    "apply it there:\n  profiles import --region eu --account 'my account'",
  ],
  values_missing: [
    { run: 'run-1', set: ['tier', 'my key'], where: ['plan!='] },
    "add them: --set tier=… --set 'my key='… --where 'plan!='…",
  ],
  jobs_unfinished: [{ jobs: ['a', 'b c'] }, "to follow them:\n  profiles job a 'b c' --watch"],
  read_refused: [
    {},
    'check the base URL and, for a job, its id\nto see the settings:\n  profiles config list\nto list the known jobs:\n  profiles jobs',
  ],
};

test.each(Object.entries(CASES))('%s', (code, [data, hint, message]) => {
  expect(wordsOf({ code, ...data } as Problem, commands)).toEqual({
    ...(hint !== undefined && { hint }),
    ...(message !== undefined && { message }),
  });
});

test('a request that was refused when its run was opened again is skipped without that', () => {
  const { hint } = wordsOf(
    { code: 'request_refused', run: 'r-1' },
    typedAs('resume r-1 --failed -o retries=1'),
  );
  expect(hint).toContain('\n  profiles resume r-1 -o retries=1 --on-failure continue');
});

test.each([
  ['permission', 'check the folder’s owner and permissions, or choose another folder with --state'],
  ['read_only', 'make the folder and its file system writable, or choose another folder with --state'],
] as const)('a state folder that cannot be written (%s) needs no disk space', (reason, hint) => {
  const error = new StateError('…', { problem: { code: 'state_folder', reason } });
  expect(errorWords(error, commands).hint).toBe(hint);
});

test('percentages without their sign are explained', () => {
  const words = wordsOf(
    { code: 'cells_of_other_type', column: 'rate', type: 'number', isPercent: true },
    commands,
  );
  expect(words.hint).toBe(
    'they have no "%": --type rate=number sends the numbers as they are (a workbook has 12.5 % as 0.125)',
  );
});

test('the command for a file can be pasted with any file name and settings', () => {
  const other: Problem = { code: 'other_delimiter', path: '-a.csv', delimiter: ';' };
  expect(wordsOf(other, typedAs('import --id Mail --region eu -- -a.csv')).hint).toBe(
    'if ";" separates its columns:\n  profiles import --id Mail --delimiter \';\' --region eu -- -a.csv',
  );
});

test.each([
  ['resume', 'wait for it to end (--wait-for-lock 10m does); to see its progress:\n  profiles runs'],
  ['state migrate --to x', 'wait for it to end; to see its progress:\n  profiles runs'],
])('a lock that `%s` finds taken: the flag is named where the command takes it', (line, hint) => {
  expect(wordsOf({ code: 'import_running', run: null }, typedAs(line)).hint).toBe(hint);
});

test('doctor does not advise doctor', () => {
  expect(wordsOf({ code: 'no_answer' }, typedAs('doctor')).hint).toBe(
    'check the network, the base URL and the proxy settings',
  );
});

test('if nothing is recognized, the hint asks for encoding and format', () => {
  expect(wordsOf({ code: 'wrong_encoding', path: 'a.csv', suggestions: [] }, commands).hint).toContain(
    'with --encoding',
  );
  expect(wordsOf({ code: 'wrong_format', likely: null }, commands).hint).toBe(
    'name the format with --format',
  );
  expect(wordsOf({ code: 'rule_for_identifier', rule: 'types', column: 'id' }, commands).message).toBe(
    '--type id: an identifier is always text',
  );
});

test('an error without texts here keeps its own', () => {
  const plain = new InputError('is empty', { file: 'a.csv', hint: 'export it again' });
  expect(errorWords(plain, commands)).toEqual({ message: 'a.csv: is empty', hint: 'export it again' });
  const unknown = new UsageError('encoding: "cp99" is not a known encoding', {
    hint: 'such as utf-8',
    problem: { code: 'unknown_encoding', label: 'cp99' },
  });
  expect(errorWords(unknown, commands)).toEqual({
    message: '--encoding: "cp99" is not a known encoding',
    hint: 'such as utf-8',
  });
});

test('a warning is one line, with its hint if it has one', () => {
  expect(warningText({ message: 'no rows' }, commands)).toBe('no rows');
  expect(warningText({ message: 'n: 1.90', problem: { code: 'digits_lost', column: 'n' } }, commands)).toBe(
    'n: 1.90; --type n=string keeps the text',
  );
});

test('what to continue with is a command line, also for a run that kept one of its own', () => {
  const resume = (run: string | null): string | null =>
    factsOf(aSummary({ resume: run }), { commands, failed: [] }).resume;
  expect(resume('run-1')).toBe('profiles resume run-1');
  expect(resume(null)).toBeNull();
});

test('events have the texts, and the summary those of all warnings; nothing else changes', () => {
  const hearing = new Hearing({ clock: Date, commands });
  const warning: ImportEvent = {
    type: 'warning',
    message: '"zip" is integer now',
    problem: { code: 'type_changed', column: 'zip', before: 'string' },
  };
  const words = '"zip" is integer now; --type zip=string pins it';
  expect(hearing.tell(warning)).toEqual({ type: 'warning', message: words });
  const notice: ImportEvent = { type: 'notice', message: 'resuming run run-1' };
  expect(hearing.tell(notice)).toBe(notice);
  const { next: _, ...summary } = aSummary({
    status: 'stopped',
    resume: 'run-1',
    warnings: [warning.message],
  });
  expect(hearing.tell({ type: 'summary', summary })).toMatchObject({
    type: 'summary',
    facts: {
      summary: { ...summary, warnings: [words] },
      next: [{ what: 'continue with', command: 'profiles resume run-1', shared: 'profiles resume run-1' }],
      resume: 'profiles resume run-1',
    },
  });
});

test.each<[string, Changes, string]>([
  ['import a.csv --skip-invalid', { plus: ['--skip-invalid'] }, 'import a.csv --skip-invalid'],
  ['import a.csv --canary=5', { plus: ['--canary', '9'] }, 'import a.csv --canary 9'],
  ['import a.csv --set x=1', { plus: ['--set', 'y=2'] }, 'import a.csv --set x=1 --set y=2'],
  ['apply p.json --region eu', { plus: ['--region', 'mine'] }, 'apply p.json --region mine'],
  ['apply p.json --region eu', { without: ['--region'] }, 'apply p.json'],
])('%s with %j', (line, changes, command) => {
  expect(typedAs(line).again(changes)).toBe(`profiles ${command}`);
});

test('a flag that is removed does not come back from the environment', () => {
  const env = { PROFILES_ACCOUNT: 'prod', PROFILES_REGION: 'eu' };
  const { again } = new Commands({ argv: ['apply', 'p.json'], world: { env, platform: 'linux', cwd: '/' } });
  expect(again({ without: ['--account'] })).toBe('profiles apply p.json --region eu');
});

type About = Omit<Partial<Known>, 'commands'>;

function nextOf(line: string, over: Partial<Summary>, known: About = {}): string[] {
  return nextSteps(aSummary(over), { commands: typedAs(line), failed: [], ...known }).map(
    ({ what, command }) => `${what}: ${command}`,
  );
}

const rows = (rejected: number): Summary['rows'] => ({ ...aSummary().rows, rejected });
const REJECTED: Partial<Summary> = {
  rows: { ...rows(2), unsent: 995 },
  files: [{ ...aSummary().files[0]!, rejects_file: 'a.rejects.csv' }],
};

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
    const commands = new Commands({ argv: line, world: { env: {}, platform: 'linux', cwd: '/' } });
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
});

describe('unfinished jobs are followed if no other step continues them', () => {
  test('a job that the service no longer knows is not followed', () => {
    const jobs = [aJob({ status: 'unknown' })];
    expect(nextOf('import a.csv', { status: 'partial', jobs })).toEqual([
      'see what became of its rows: profiles runs run-1',
    ]);
  });
});
