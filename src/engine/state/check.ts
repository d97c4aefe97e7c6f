/**
 * What always holds of a state. Records are written in one transaction with those that they refer to, so a crash cannot
 * break it. A damaged disk can, or a mix of files from different states.
 */
import type { Reader } from './database.js';
import { type RequestRange, requestsOf } from './requests.js';
import { submittedRows } from './run-requests.js';
import { damagedIn, STORED, storedJson, storedOrNull } from './stored-json.js';

/** An inconsistency. `check` is stable, so scripts can rely on it. */
export interface StateProblem {
  check: string;
  message: string;
}

export interface Invariant {
  check: string;
  sentence: string;
  /** SQL that returns a message for each record that breaks it, or a function that finds them. */
  broken: string | ((on: Reader) => AsyncIterable<string>);
}

/** The most problems of one check that are listed. The others are only counted. */
const MOST_NAMED = 10;

/** SQL: true if no other request has sent the rows of this one again. */
const STANDS =
  'NOT EXISTS (SELECT 1 FROM requests AS part WHERE part.run = requests.run AND part.parent = requests.seq)';

const READABLE: readonly Invariant[] = Object.values(STORED).map((column) => ({
  check: column[0],
  sentence: `The JSON in \`${column[0]}.${column[1]}\` can be read.`,
  broken: (on) => damagedIn(on, column),
}));

export const INVARIANTS: readonly Invariant[] = [
  {
    check: 'history',
    sentence: 'An entry of the history has an id for each row, and lines if it is of a run.',
    broken: `SELECT 'entry ' || entry || ' of the history is damaged' AS message
      FROM history WHERE length(ids) = 0 OR length(ids) % 6 <> 0 OR (run IS NOT NULL AND lines IS NULL)`,
  },
  {
    check: 'runs',
    sentence: 'All requests of a finished run are answered or given up.',
    broken: `SELECT 'run ' || run || ' is recorded as finished, and its request ' || seq || ' as not answered' AS message
      FROM requests JOIN runs USING (run)
      WHERE finished = 1 AND status <> 'superseded' AND state IN ('intent', 'unknown', 'waiting', 'withdrawn') AND ${STANDS}`,
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
      FROM sends JOIN requests USING (request)
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
      FROM sends JOIN requests USING (request) JOIN runs ON runs.run = requests.run
        JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
      WHERE sends.state = 1 AND jobs.status = 'failed'`,
  },
  {
    check: 'fingerprints',
    sentence: 'The request of a send is recorded.',
    broken: `SELECT 'batch ' || send || ' of the remembered ' || kind || ' belongs to a request that is not recorded' AS message
      FROM sends WHERE request IS NOT NULL AND request NOT IN (SELECT request FROM requests)`,
  },
];

async function* miscounted(on: Reader): AsyncGenerator<string> {
  // Not one by one: the requests of a run are read in between.
  const runs = await on.all<{ run: string; summary: string }>(
    "SELECT run, summary FROM runs WHERE finished = 1 AND status <> 'superseded' AND summary IS NOT NULL",
  );
  for (const { run, summary } of runs) {
    const recorded = submittedRows(await requestsOf(on, run));
    const reported = storedJson<{ rows: { submitted: number } }>(summary, STORED.summary, run).rows.submitted;
    if (reported !== recorded)
      yield `run ${run} reported ${reported} submitted rows, and its requests have ${recorded}`;
  }
}

type Held = Pick<RequestRange, 'input' | 'first_row' | 'end_row'> & { run: string; seq: number };

async function* misplaced(on: Reader): AsyncGenerator<string> {
  const runs = await on.all<{ run: string; inputs: string }>('SELECT run, inputs FROM runs');
  const inputs = new Map(
    runs.map(({ run, inputs }) => [run, storedJson<unknown[]>(inputs, STORED.inputs, run).length]),
  );
  const requests = on.each<Held & { more: string | null; counts: number }>(
    `SELECT run, seq, input, first_row, end_row, more, ${STANDS} AS counts FROM requests ORDER BY run`,
  );
  let ranges: Held[] = [];
  for await (const { more, counts, ...first } of requests) {
    const { run, seq } = first;
    if (ranges[0] && ranges[0].run !== run) {
      yield* overlapsIn(ranges);
      ranges = [];
    }
    const others = storedOrNull<RequestRange[]>(more, STORED.ranges, run) ?? [];
    const own = [first, ...others.map((range) => ({ ...range, run, seq }))];
    if (own.some(({ input }) => input >= inputs.get(run)!))
      yield `request ${seq} of run ${run} names an input that the run does not have`;
    if (counts === 1) ranges.push(...own);
  }
  yield* overlapsIn(ranges);
}

function* overlapsIn(ranges: readonly Held[]): Generator<string> {
  const ordered = [...ranges].sort((a, b) => a.input - b.input || a.first_row - b.first_row || a.seq - b.seq);
  let taken = { input: -1, row: 0 };
  for (const { run, seq, input, first_row, end_row } of ordered) {
    if (input !== taken.input) taken = { input, row: 0 };
    if (first_row < taken.row) yield `request ${seq} of run ${run} holds rows that another one holds too`;
    taken.row = Math.max(taken.row, end_row);
  }
}

/** Runs all checks. @returns the problems; none if the records are consistent */
export async function problemsOf(on: Reader): Promise<StateProblem[]> {
  const unreadable = await brokenOf(on, READABLE);
  // The functions read that JSON.
  const others = INVARIANTS.filter(({ broken }) => unreadable.length === 0 || typeof broken === 'string');
  return [...unreadable, ...(await brokenOf(on, others))];
}

async function brokenOf(on: Reader, invariants: readonly Invariant[]): Promise<StateProblem[]> {
  const problems: StateProblem[] = [];
  for (const { check, broken } of invariants) {
    const messages = typeof broken === 'string' ? messagesOf(on, broken) : broken(on);
    problems.push(...(await firstOf(check, messages)));
  }
  return problems;
}

async function* messagesOf(on: Reader, query: string): AsyncGenerator<string> {
  for await (const { message } of on.each<{ message: string }>(query)) yield message;
}

/** Lists the first problems of one check, and the number of the others. */
export async function firstOf(
  check: string,
  messages: AsyncIterable<string> | Iterable<string>,
): Promise<StateProblem[]> {
  const named: StateProblem[] = [];
  let more = 0;
  for await (const message of messages) {
    if (named.length < MOST_NAMED) named.push({ check, message });
    else more++;
  }
  return more > 0 ? [...named, { check, message: `and ${more} more like this` }] : named;
}
