/**
 * What always holds of a state. Records are written in one transaction with those that they refer to, so a crash cannot
 * break it. A damaged disk can, or a mix of files from different states.
 */

import type { RequestRange } from '../model/requests.js';
import { RunRequests } from '../model/run-requests.js';
import { type Reader, raw, STORED, sql, storedJson } from './database.js';
import { type RequestRest, requestsOf } from './jobs.js';
import type { RunRest } from './runs.js';

/** An inconsistency. `check` is stable, so scripts can rely on it. */
export interface StateProblem {
  check: string;
  message: string;
}

export interface Invariant {
  check: string;
  sentence: string;
  /** SQL that returns a message for each record that breaks it, or a function that finds them. */
  broken: string | ((on: Reader) => Promise<string[]>);
}

/** The most problems of one check that are listed. The others are only counted. */
const MOST_NAMED = 10;

/** SQL: true if no other request has sent the rows of this one again. */
const STANDS =
  'NOT EXISTS (SELECT 1 FROM requests AS part WHERE part.run = requests.run AND part.parent = requests.seq)';

export const INVARIANTS: readonly Invariant[] = [
  {
    check: 'history',
    sentence: 'An entry of the history has an id for each row, and lines if it is of a run.',
    broken: `SELECT 'an entry of the history of ' || coalesce('run ' || run, 'identify') || ' is damaged' AS message
      FROM history WHERE length(ids) = 0 OR length(ids) % 6 <> 0 OR (run IS NOT NULL AND lines IS NULL)`,
  },
  {
    check: 'runs',
    sentence: 'All requests of a finished run are answered or given up.',
    broken: `SELECT 'run ' || run || ' is recorded as finished, and its request ' || seq || ' as not answered' AS message
      FROM requests JOIN runs USING (run)
      WHERE finished = 1 AND status <> 'superseded' AND state IN ('intent', 'unknown', 'withdrawn') AND ${STANDS}`,
  },
  {
    check: 'runs',
    sentence: 'A finished run reported as many submitted rows as its requests have.',
    broken: miscounted,
  },
  {
    check: 'requests',
    sentence: 'The job of an accepted request is recorded.',
    broken: `SELECT 'request ' || seq || ' of run ' || run || ' was accepted as job ' || job_id || ', which is not recorded' AS message
      FROM requests JOIN runs USING (run)
      WHERE job_id IS NOT NULL AND state IN ('acknowledged', 'settled')
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.scope = runs.scope AND jobs.job_id = requests.job_id)`,
  },
  {
    check: 'requests',
    sentence: 'A request has rows of inputs of its run, and no other request that counts has the same rows.',
    broken: misplaced,
  },
  {
    check: 'jobs',
    sentence: 'A request and its send name the same job.',
    broken: `SELECT 'job ' || sends.job_id || ' is not that of its request' AS message
      FROM sends JOIN requests USING (run, seq)
      WHERE sends.job_id IS NOT NULL AND requests.job_id IS DISTINCT FROM sends.job_id`,
  },
  {
    check: 'fingerprints',
    sentence: 'A send has its rows, with a content for each id.',
    broken: `SELECT 'batch ' || send || ' of the remembered ' || kind || ' is cut off' AS message
      FROM sends LEFT JOIN fingerprints USING (send)
      WHERE ids IS NULL OR length(ids) % 8 <> 0 OR length(contents) <> length(ids) OR length(records) <> length(ids)`,
  },
  {
    check: 'fingerprints',
    sentence: 'Rows of a job that failed do not count as completed.',
    broken: `SELECT 'batch ' || send || ' of the remembered ' || sends.kind || ' counts as completed, and its job failed' AS message
      FROM sends JOIN requests USING (run, seq) JOIN runs ON runs.run = requests.run
        JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
      WHERE sends.state = 1 AND jobs.status = 'failed'`,
  },
  {
    check: 'fingerprints',
    sentence: 'The request of a send is recorded.',
    broken: `SELECT 'batch ' || send || ' of the remembered ' || kind || ' belongs to a request that is not recorded' AS message
      FROM sends WHERE seq IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.run = sends.run AND requests.seq = sends.seq)`,
  },
];

async function miscounted(on: Reader): Promise<string[]> {
  const runs = await on.all<{ run: string; summary: string }>(
    "SELECT run, summary FROM runs WHERE finished = 1 AND status <> 'superseded' AND summary IS NOT NULL",
  );
  const broken: string[] = [];
  for (const { run, summary } of runs) {
    const recorded = new RunRequests(await requestsOf(on, run)).totals.submitted;
    const reported = storedJson<{ rows: { submitted: number } }>(summary, STORED.summary, run).rows.submitted;
    if (reported !== recorded)
      broken.push(`run ${run} reported ${reported} submitted rows, and its requests have ${recorded}`);
  }
  return broken;
}

type Held = Pick<RequestRange, 'input' | 'first_row' | 'end_row'> & { seq: number };

async function misplaced(on: Reader): Promise<string[]> {
  const broken: string[] = [];
  const runs = await on.all<{ run: string; record: string }>('SELECT run, record FROM runs');
  for (const { run, record } of runs) {
    const { inputs } = storedJson<RunRest>(record, STORED.run, run);
    const requests = await on.all<{ seq: number; input: number; record: string; counts: number }>(
      sql`SELECT seq, input, record, ${raw(STANDS)} AS counts FROM requests WHERE run = ${run}`,
    );
    const held: Held[] = [];
    for (const { seq, input, record, counts } of requests) {
      const { more, ...first } = storedJson<RequestRest>(record, STORED.request, run);
      const own = [{ ...first, input }, ...more].map((range) => ({ ...range, seq }));
      if (own.some((range) => range.input >= inputs.length))
        broken.push(`request ${seq} of run ${run} names an input that the run does not have`);
      if (counts === 1) held.push(...own);
    }
    held.sort((a, b) => a.input - b.input || a.first_row - b.first_row || a.seq - b.seq);
    let taken = { input: -1, row: 0 };
    for (const { seq, input, first_row, end_row } of held) {
      if (input !== taken.input) taken = { input, row: 0 };
      if (first_row < taken.row)
        broken.push(`request ${seq} of run ${run} holds rows that another one holds too`);
      taken.row = Math.max(taken.row, end_row);
    }
  }
  return broken;
}

/**
 * Runs all checks.
 * @param references messages about rows that refer to missing rows
 * @returns the problems; none if the records are consistent
 * @throws StateError if JSON in a table is damaged
 */
export async function problemsOf(on: Reader, references: readonly string[]): Promise<StateProblem[]> {
  const problems = firstOf('references', references);
  for (const { check, broken } of INVARIANTS) {
    const messages =
      typeof broken === 'string'
        ? (await on.all<{ message: string }>(broken)).map(({ message }) => message)
        : await broken(on);
    problems.push(...firstOf(check, messages));
  }
  return problems;
}

/** Lists the first problems of one check, and the number of the others. */
function firstOf(check: string, messages: readonly string[]): StateProblem[] {
  const named = messages.slice(0, MOST_NAMED).map((message) => ({ check, message }));
  const more = messages.length - named.length;
  return more > 0 ? [...named, { check, message: `and ${more} more like this` }] : named;
}
