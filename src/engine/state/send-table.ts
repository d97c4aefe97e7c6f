/**
 * The table `sends` (contract §3 "Only what changed", §4 "Across runs"): a small row for each time that a request or
 * profile is sent, numbered in order. The hashes of its rows are stored separately (`rows.ts`).
 *
 * A send is *open* while the service may still carry it out: its job is not known to have ended, or it is not known
 * whether it arrived (`doubt`). Ids that overlap with an open send are not remembered (`overlaps.ts`).
 */

import type { RequestRecord } from '../model/requests.js';
import type { Kind } from '../model.js';
import { isFinal } from '../service/names.js';
import { idOf, type Scope } from './access.js';
import { insertInto, joined, type Reader, raw, type Sql, sql, type Transaction } from './database.js';

/**
 * The stored state of a send. Every send clears the fingerprints of its ids. When its job is seen to complete, they are
 * set. A dead send can no longer set them. `verified`: nothing was sent, because a run found its rows unchanged.
 */
export const SEND = { pending: raw('0'), completed: raw('1'), dead: raw('2'), verified: raw('3') } as const;

/** While an outcome is unknown, other contents of the same ids are not remembered, but only for this long (contract §4). */
const DOUBT_MS = 24 * 60 * 60 * 1_000;

/** Stored in place of a run for profiles that `identify` sent. */
export const IDENTIFY = 'identify';

/** Whose sends: all of a kind, or all except those of one run. */
export interface Whose {
  scope: Scope;
  kind: Kind;
  run: string | null;
}

/** A send, as a query finds it. */
export interface SentRows {
  send: number;
  /** Null if it is not known. */
  run: string | null;
  job_id: string | null;
  /** Number of its rows. */
  rows: number;
  /** Where it stands in the order of data. */
  place: number;
}

/** SQL, with `state` in its text, as the indexes need it. */
export const HAS_JOB = sql`state = ${SEND.pending} AND job_id IS NOT NULL`;
/** SQL: whether its outcome is in doubt at a time. */
export const doubtAt = (now: number): Sql => sql`doubt > ${now - DOUBT_MS}`;
export const isOfKind = (scope: Scope, kind: Kind): Sql => sql`scope = ${idOf(scope)} AND kind = ${kind}`;

/** Selects sends with the number of their rows. */
export const sentRows = (where: Sql, job: Sql = raw('job_id')): Sql =>
  sql`SELECT send, run, seq, ${job} AS job_id, length(ids) / 8 AS rows, send AS place
    FROM sends JOIN fingerprints USING (send) WHERE ${where}`;

/** Adds a send. `began`, the age of its data, is that of its run; for a single profile, its own number. */
export async function addSend(
  tx: Transaction,
  send: number,
  of: Whose & { seq: number | null; state: Sql; doubt: number | null },
): Promise<void> {
  const began = sql`coalesce((SELECT began FROM runs WHERE run = ${of.run}), ${send})`;
  await tx.run(insertInto('sends', { ...of, send, scope: idOf(of.scope), began }));
}

/** Updates the send of a request from its record. It is in doubt from its intent until there is an answer. */
export async function updateSend(
  tx: Transaction,
  run: string,
  { seq, state, job, possibleDuplicate }: RequestRecord,
  now: number,
): Promise<void> {
  const waits = state === 'intent' || state === 'unknown' || state === 'acknowledged';
  const hasNoEnd = state === 'settled' && !(job && isFinal(job.status));
  if (state === 'settled' && !hasNoEnd) return; // `endJob` has recorded the end of its job
  const isInDoubt = state === 'intent' || state === 'unknown' || hasNoEnd || possibleDuplicate !== null;
  await tx.run(
    sql`UPDATE sends SET state = ${waits ? SEND.pending : SEND.dead}, doubt = ${isInDoubt ? now : null},
        job_id = ${state === 'acknowledged' ? (job?.job_id ?? null) : null}
      WHERE run = ${run} AND seq = ${seq}
        AND state IN (${joined([SEND.pending, ...(state === 'intent' ? [SEND.dead] : [])])})`,
  );
}

/**
 * Records that a job has ended, or is gone, and settles its requests. The job is the answer to the last send that was
 * answered with it: a service may give the id of an old job to a new one. If two sends of a run have it, it does not show
 * that the rows of either were completed. Earlier sends of other runs can never be seen to complete.
 * @param end `completed`: the recorded time of completion, ISO 8601. `gone`: the outcome stays in doubt
 */
export async function endJob(
  tx: Transaction,
  scope: Scope,
  job: string,
  end: { completed: string } | 'failed' | 'gone',
  now: number,
): Promise<void> {
  const ofJob = sql`scope = ${idOf(scope)} AND job_id = ${job}`;
  const [own, ...others] = await tx.all<{ send: number; run: string | null }>(
    sql`SELECT send, run FROM sends WHERE ${ofJob} ORDER BY send DESC`,
  );
  if (!own) return;
  const isShared = others.some(({ run }) => run === own.run);
  const isWhole = typeof end === 'object' && !isShared && own.run !== IDENTIFY;
  const pending = sql`${ofJob} AND state = ${SEND.pending}`;
  await tx.run(
    sql`UPDATE sends SET state = ${SEND.dead}, doubt = ${now} WHERE ${pending} AND send <> ${own.send}`,
  );
  await tx.run(
    sql`UPDATE sends SET state = ${isWhole ? SEND.completed : SEND.dead},
        completed_at = ${isWhole ? end.completed : null}, doubt = ${end === 'gone' ? now : raw('doubt')}
      WHERE ${pending} AND send = ${own.send}`,
  );
  await tx.run(
    sql`UPDATE requests SET state = 'settled' WHERE state = 'acknowledged'
      AND run = ${own.run} AND seq IN (SELECT seq FROM sends WHERE ${ofJob} AND run = ${own.run})`,
  );
}

/** Removes the link between sends and requests that are sent again or deleted. Their jobs may still complete. */
export async function unlinkSends(tx: Transaction, requests: Sql): Promise<void> {
  await tx.run(
    sql`UPDATE sends SET seq = NULL, state = CASE WHEN state = ${SEND.pending} AND job_id IS NULL
        THEN ${SEND.dead} ELSE state END WHERE seq IS NOT NULL AND ${requests}`,
  );
}

/** The number of the last send of a kind; 0 if there is none. */
export const newestSend = (on: Reader, scope: Scope, kind: Kind): Promise<number> =>
  last(on, sql`FROM sends WHERE ${isOfKind(scope, kind)} AND state <> ${SEND.verified}`);

/** The number of the last send of a request; 0 if there is none. */
export const lastSend = (on: Reader, run: string, seq: number): Promise<number> =>
  last(on, sql`FROM sends WHERE run = ${run} AND seq = ${seq}`);

const last = async (on: Reader, from: Sql): Promise<number> =>
  (await on.get<{ found: number }>(sql`SELECT coalesce(max(send), 0) AS found ${from}`))!.found;

/** The sends of the kind after this one, except those of this run. */
export async function othersSince(on: Reader, send: number, { scope, kind, run }: Whose): Promise<number[]> {
  const rows = await on.all<{ send: number }>(
    sql`SELECT send FROM sends WHERE ${isOfKind(scope, kind)} AND send > ${send} AND run IS DISTINCT FROM ${run}`,
  );
  return rows.map((row) => row.send);
}

/** Open sends, oldest first. `job_id` is null if a send is only in doubt. */
export const openSends = (
  on: Reader,
  { scope, kind }: Whose,
  which: Sql,
  now: number,
): Promise<SentRows[]> => {
  const job = sql`CASE WHEN ${HAS_JOB} THEN job_id END`;
  const where = sql`${isOfKind(scope, kind)} AND ${which} AND (${HAS_JOB} OR ${doubtAt(now)})`;
  return on.all(sql`${sentRows(where, job)} ORDER BY send`);
};

/**
 * SQL: true if data of this scope and kind is older than that of `runs`, and may still be sent. A plan of a recorded run
 * names a run that is older than the plan, and has not applied it.
 */
export const hasOlder = (scope: Sql, kind: Sql): Sql =>
  sql`(EXISTS (SELECT 1 FROM runs AS older WHERE older.scope = ${scope} AND older.kinds LIKE '%' || ${kind} || '%'
      AND older.finished = 0 AND older.began < runs.began)
    OR EXISTS (SELECT 1 FROM plans WHERE plans.scope = ${scope} AND plans.number < runs.began
      AND NOT EXISTS (SELECT 1 FROM runs AS applied
        WHERE applied.run = plans.run AND applied.finished = 1 AND applied.began >= plans.number)))`;

/** Deletes ids that runs verified and that no older data needs anymore. */
export async function pruneVerified(tx: Transaction): Promise<void> {
  await tx.run(
    sql`DELETE FROM sends WHERE state = ${SEND.verified} AND NOT EXISTS (SELECT 1 FROM runs
      WHERE runs.run = sends.run AND ${hasOlder(sql`sends.scope`, sql`sends.kind`)})`,
  );
}
