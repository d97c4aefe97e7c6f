/** Made-up results of imports, for tests of how they are shown. */
import { Commands } from '../../src/cli/advice/commands.js';
import type { Step } from '../../src/cli/advice/next.js';
import { type Facts, factsOf, type Heard } from '../../src/cli/facts/index.js';
import type { ImportEvent } from '../../src/engine/events.js';
import type { PlanTotals } from '../../src/engine/model/plan-changes.js';
import type { Plan, RejectionCause, RunJob, Summary } from '../../src/engine/model.js';

export function aJob(over: Partial<RunJob> = {}): RunJob {
  return {
    job_id: 'job-1',
    status: 'completed',
    total_rows: 997,
    completed_rows: 997,
    links: null,
    file: 'companies.csv',
    first_line: 2,
    last_line: 1001,
    ...over,
  };
}

/** A result with its next steps. */
export interface Ended extends Summary {
  next: Step[];
}

/** What is said about a result. */
export function factsAbout({ next, ...summary }: Ended, heard: Heard = {}): Facts {
  const commands = new Commands({ argv: [], world: { env: {}, platform: 'linux', cwd: '/' } });
  return { ...factsOf(summary, { commands, failed: [] }, heard), next };
}

/** A successful import, unless `over` says otherwise. */
export function aSummary(over: Partial<Ended> = {}): Ended {
  return {
    run: 'run-1',
    status: 'completed',
    kinds: ['companies'],
    account: 'production',
    region: 'eu',
    base_url: 'https://api.test',
    rows: { read: 997, filtered: 0, rejected: 0, merged: 0, unchanged: 0, submitted: 997, completed: 997 },
    requests: 1,
    retries: 0,
    files: [
      {
        path: 'companies.csv',
        kind: 'companies',
        rows: { read: 997, filtered: 0, rejected: 0 },
        rejects_file: null,
      },
    ],
    rejected: [],
    causes: [],
    jobs: [aJob()],
    maybe_sent_twice: [],
    warnings: [],
    next: [],
    resume: null,
    elapsed_seconds: 1.9,
    ...over,
  };
}

/** A next step with a command. */
export const aStep = (command: string, what = 'continue with', shared = command): Step => ({
  what,
  command,
  shared,
});

export function aCause(over: Partial<RejectionCause> = {}): RejectionCause {
  const { first_line = 17 } = over;
  return {
    file: 'companies.csv',
    column: null,
    reason: 'has 3 cells, the header has 2',
    rows: 1,
    first_line,
    hint: null,
    at: `line ${first_line}`,
    example: null,
    ...over,
  };
}

/**
 * A summary with `n` rejected rows of `companies.csv`, each for another reason. It has the first 20
 * rejections.
 */
export function withRejections(n: number, over: Partial<Ended> = {}): Ended {
  const rejected = Array.from({ length: Math.min(n, 20) }, (_, i) => ({
    file: 'companies.csv',
    line: 17 + i,
    reason: `reason ${i}`,
  }));
  return aSummary({
    status: 'partial',
    rows: {
      read: 997 + n,
      filtered: 0,
      rejected: n,
      merged: 0,
      unchanged: 0,
      submitted: 997,
      completed: 997,
    },
    files: [
      {
        path: 'companies.csv',
        kind: 'companies',
        rows: { read: 997 + n, filtered: 0, rejected: n },
        rejects_file: 'companies.rejects.csv',
      },
    ],
    rejected,
    causes: Array.from({ length: n }, (_, i) => aCause({ first_line: 17 + i, reason: `reason ${i}` })),
    ...over,
  });
}

export function aPlan(over: Partial<Plan> = {}): Plan {
  return {
    files: [
      {
        path: 'companies.csv',
        kind: 'companies',
        format: 'csv',
        encoding: 'utf-8',
        delimiter: ';',
        dialect: {
          delimiter: ';',
          quote: '"',
          escape: null,
          comment: null,
          skip_lines: 0,
          lenient_quotes: false,
        },
        rows: { read: 50_000, filtered: 0, rejected: 2 },
        columns: [
          { column: 'company_id', key: 'company_id', type: 'string', reason: 'identifier', empty: 0 },
          { column: 'zip', key: 'zip', type: 'string', reason: 'row 17: "02139"', empty: 1_204 },
          { column: 'note', key: null, type: null, reason: 'excluded', empty: 0 },
        ],
        sample: { company_id: '1', metadata: { zip: '02139', name: '株式会社' } },
      },
    ],
    duplicates: 3,
    requests: 10,
    bytes: 4_194_304,
    estimated_seconds: 25,
    ...over,
  };
}

/** The event about a plan of 50,000 rows that are all sent, unless `over` says otherwise. */
export const aPlanEvent = (over: Partial<PlanTotals> = {}): Extract<ImportEvent, { type: 'plan' }> => ({
  type: 'plan',
  plan: aPlan(),
  totals: {
    ...{ read: 50_000, filtered: 0, rejected: 0, merged: 0, unchanged: 0, to_send: 50_000 },
    ...{ requests: 10, bytes: 4_194_304, stopped_by: null },
    ...over,
  },
});

type Progress = Extract<ImportEvent, { type: 'progress' }>;

export function aProgress(phase: Progress['phase'], rows: number, over: Partial<Progress> = {}): Progress {
  return { type: 'progress', phase, kind: 'companies', rows, total_rows: 50_000, ...over };
}

export function aJobEvent(over: Partial<RunJob> = {}): Extract<ImportEvent, { type: 'job' }> {
  return { type: 'job', kind: 'companies', rows: 5_000, job: aJob({ total_rows: 5_000, ...over }) };
}
