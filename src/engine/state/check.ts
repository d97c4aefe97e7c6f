/** Whether a database is whole, and whether what it says in one place agrees with what it says in another. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';

/** Something that cannot be so. `check` is stable: scripts match on it. */
export interface StateProblem {
  check: string;
  message: string;
}

/** As many of one check are named; then they are counted. */
const MOST_NAMED = 10;

/**
 * Each gives a line for everything that is wrong. What is recorded is written in one transaction with what it refers
 * to, so none of this can come of a crash: it comes of a damaged disk, or of files that were mixed up.
 */
/** No other request has taken its rows. */
const STANDS =
  'NOT EXISTS (SELECT 1 FROM requests AS part WHERE part.run = requests.run AND part.parent = requests.seq)';

const RECORDS: readonly { check: string; sql: string }[] = [
  {
    check: 'history',
    sql: `SELECT 'entry ' || entry || ' of the history is damaged' AS message
          FROM history WHERE length(ids) = 0 OR length(ids) % 6 <> 0 OR (run IS NOT NULL AND lines IS NULL)`,
  },
  {
    check: 'runs',
    sql: `SELECT 'run ' || run || ' has no inputs' AS message FROM runs
          WHERE NOT EXISTS (SELECT 1 FROM inputs WHERE inputs.run = runs.run)`,
  },
  {
    check: 'runs',
    sql: `SELECT 'run ' || run || ' is recorded as finished, and its request ' || seq || ' as not answered' AS message
          FROM requests JOIN runs USING (run)
          WHERE finished = 1 AND status <> 'superseded' AND state IN ('intent', 'unknown', 'waiting')`,
  },
  {
    check: 'runs',
    sql: `SELECT 'run ' || run || ' reported ' || reported || ' submitted rows, and its requests have ' || recorded AS message
          FROM (SELECT run, json_extract(summary, '$.rows.submitted') AS reported,
                  (SELECT coalesce(sum(rows), 0) FROM requests
                   WHERE requests.run = runs.run AND state IN ('acknowledged', 'settled', 'failed') AND ${STANDS}) AS recorded
                FROM runs WHERE finished = 1 AND status <> 'superseded' AND summary IS NOT NULL)
          WHERE reported <> recorded`,
  },
  {
    check: 'requests',
    sql: `SELECT 'request ' || seq || ' of run ' || run || ' names an input that the run does not have' AS message
          FROM requests LEFT JOIN inputs USING (run, input) WHERE inputs.run IS NULL`,
  },
  {
    check: 'requests',
    sql: `SELECT 'request ' || seq || ' of run ' || run || ' holds rows that another one holds too' AS message
          FROM (SELECT run, seq, first_row, max(end_row) OVER (PARTITION BY run, input ORDER BY first_row, seq
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS taken
                FROM (SELECT run, seq, input, first_row, end_row FROM requests WHERE state <> 'withdrawn' AND ${STANDS}
                      UNION ALL
                      SELECT run, seq, value ->> 'input', value ->> 'first_row', value ->> 'end_row'
                      FROM requests, json_each(more) WHERE state <> 'withdrawn' AND ${STANDS}))
          WHERE first_row < taken`,
  },
  {
    check: 'requests',
    sql: `SELECT 'request ' || seq || ' of run ' || run || ' was accepted as job ' || job_id || ', which is not recorded' AS message
          FROM requests JOIN runs USING (run)
          WHERE job_id IS NOT NULL AND state IN ('acknowledged', 'settled')
            AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.scope = runs.scope AND jobs.job_id = requests.job_id)`,
  },
  {
    check: 'jobs',
    sql: `SELECT 'job ' || jobs.job_id || ' names a request that is not its own' AS message
          FROM jobs LEFT JOIN requests ON requests.request = jobs.request
          WHERE jobs.request IS NOT NULL AND requests.job_id IS NOT jobs.job_id`,
  },
  {
    check: 'fingerprints',
    sql: `SELECT 'batch ' || send || ' of the remembered ' || kind || ' is cut off' AS message
          FROM sends LEFT JOIN fingerprints USING (send)
          WHERE ids IS NULL OR length(ids) % 8 <> 0 OR length(contents) <> length(ids) OR length(records) <> length(ids)`,
  },
  {
    check: 'fingerprints',
    sql: `SELECT 'batch ' || send || ' of the remembered ' || sends.kind || ' counts as completed, and its job failed' AS message
          FROM sends JOIN requests USING (request) JOIN runs ON runs.run = requests.run
            JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
          WHERE sends.state = 1 AND jobs.status = 'failed'`,
  },
  {
    check: 'fingerprints',
    sql: `SELECT 'batch ' || send || ' of the remembered ' || kind || ' belongs to a request that is not recorded' AS message
          FROM sends WHERE request IS NOT NULL AND request NOT IN (SELECT request FROM requests)`,
  },
];

/** All problems; none where all is well. A database that is damaged is not asked whether its records agree. */
export function problemsOf(db: DatabaseSyncInstance): StateProblem[] {
  const damages = damagesOf(db);
  if (damages.length > 0) return damages.map((message) => ({ check: 'integrity', message }));
  const dangling = strings(db, 'PRAGMA foreign_key_check').map((table) => ({
    check: 'references',
    message: `a row of ${table} refers to a row that is not there`,
  }));
  return [...firstOf('references', dangling), ...RECORDS.flatMap(({ check, sql }) => found(db, check, sql))];
}

function damagesOf(db: DatabaseSyncInstance): string[] {
  try {
    return strings(db, `PRAGMA integrity_check(${MOST_NAMED})`).filter((line) => line !== 'ok');
  } catch (error) {
    return [(error as Error).message]; // it can be so damaged that SQLite cannot even look
  }
}

const found = (db: DatabaseSyncInstance, check: string, sql: string): StateProblem[] =>
  firstOf(
    check,
    strings(db, sql).map((message) => ({ check, message })),
  );

function firstOf(check: string, problems: readonly StateProblem[]): StateProblem[] {
  const more = problems.length - MOST_NAMED;
  const rest = more > 0 ? [{ check, message: `and ${more} more like this` }] : [];
  return [...problems.slice(0, MOST_NAMED), ...rest];
}

/** The first column of each row. */
const strings = (db: DatabaseSyncInstance, sql: string): string[] =>
  db
    .prepare(sql)
    .all()
    .map((row) => String(Object.values(row as Record<string, unknown>)[0]));
