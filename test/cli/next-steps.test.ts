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
});

describe('unfinished jobs are followed if no other step continues them', () => {
  test('a job that the service no longer knows is not followed', () => {
    const jobs = [aJob({ status: 'unknown' })];
    expect(nextOf('import a.csv', { status: 'partial', jobs })).toEqual([
      'see what became of its rows: profiles runs run-1',
    ]);
  });
});
