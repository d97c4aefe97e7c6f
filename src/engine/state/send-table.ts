/**
 * The table `sends` (contract §3 "Only what changed", §4 "Across runs"): a small row for each time that a request or
 * profile is sent, numbered in order. The hashes of its rows are stored separately (`rows.ts`).
 *
 * A send is *open* while the service may still carry it out: its job is not known to have ended, or it is not known
 * whether it arrived (`doubt`). Ids that overlap with an open send are not remembered (`overlaps.ts`).
 */
import type { Kind } from '../model.js';
import { isFinal } from '../service/names.js';
import type { Reader, Transaction, Value } from './database.js';
import { noteProfile } from './history.js';
import type { RequestRecord } from './requests.js';
import type { SentRows } from './sent-ids.js';

/**
 * The stored state of a send. Every send clears the fingerprints of its ids. When its job is seen to complete, they are
 * set. A dead send can no longer set them. `verified`: nothing was sent, because a run found its rows unchanged.
 */
export const SEND = { pending: 0, completed: 1, dead: 2, verified: 3 } as const;

/** While an outcome is unknown, other contents of the same ids are not remembered, but only for this long (contract §4). */
const DOUBT_MS = 24 * 60 * 60 * 1_000;

/** Stored in place of a run for profiles that `identify` sent. */
export const IDENTIFY = 'identify';

/** Whose sends: all of a kind, or all except those of one run. */
export interface Whose {
  scope: number;
  kind: Kind;
  run: string | null;
}

export const HAS_JOB = `state = ${SEND.pending} AND job_id IS NOT NULL`;
export const OF_KIND = `SELECT send, run, job_id, length(ids) / 8 AS rows, send AS place
  FROM sends JOIN fingerprints USING (send) WHERE scope = ?1 AND kind = ?2`;

/** The column `found` of a query that always has a row. */
const only = async <T>(on: Reader, sql: string, ...values: Value[]): Promise<T> =>
  (await on.get<{ found: T }>(sql, ...values))!.found;

/** Adds a send. `began`, the age of its data, is that of its run; for a single profile, its own number. */
export async function addSend(
  tx: Transaction,
  send: number,
  of: Whose & { request: number | null; state: number; doubt: number | null },
): Promise<void> {
  await tx.run(
    `INSERT INTO sends (send, scope, kind, run, request, state, doubt, began)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce((SELECT began FROM runs WHERE run = ?4), ?1))`,
    send,
    of.scope,
    of.kind,
    of.run,
    of.request,
    of.state,
    of.doubt,
  );
}

/** Updates the send of a request from its record. It is in doubt from its intent until there is an answer. */
export async function updateSend(
  tx: Transaction,
  request: number,
  { state, job, possibleDuplicate }: RequestRecord,
  now: number,
): Promise<void> {
  const waits = state === 'intent' || state === 'unknown' || state === 'acknowledged';
  const hasNoEnd = state === 'settled' && !(job && isFinal(job.status));
  if (state === 'settled' && !hasNoEnd) return; // `endJob` has recorded the end of its job
  const isInDoubt = state === 'intent' || state === 'unknown' || hasNoEnd || possibleDuplicate !== null;
  const from = state === 'intent' ? [SEND.pending, SEND.dead] : [SEND.pending];
  await tx.run(
    `UPDATE sends SET state = ?, doubt = ?, job_id = ? WHERE request = ? AND state IN (${from.join(', ')})`,
    waits ? SEND.pending : SEND.dead,
    isInDoubt ? now : null,
    state === 'acknowledged' ? (job?.job_id ?? null) : null,
    request,
  );
}

/** Records the job of a single profile, which ends its doubt or not. */
export async function linkProfile(
  tx: Transaction,
  send: number,
  job: string,
  doubt: number | null,
): Promise<void> {
  const sql = `UPDATE sends SET state = ${SEND.pending}, doubt = ?, job_id = ? WHERE send = ?`;
  await tx.run(sql, doubt, job, send);
  await noteProfile(tx, send, { job });
}

/** The send that a job is the answer to: the last one. A service may give the id of an old job to a new one. */
const sendOfJob = (
  on: Reader,
  scope: number,
  job: string,
): Promise<{ send: number; request: number | null; run: string | null } | undefined> =>
  on.get(
    'SELECT send, request, run FROM sends WHERE scope = ? AND job_id = ? ORDER BY send DESC LIMIT 1',
    scope,
    job,
  );

/**
 * Records that a job has ended, or is gone, and settles its requests. If two sends of a run have this job, it does not
 * show that the rows of either were completed. Earlier sends of other runs can never be seen to complete.
 * @param end `completed`: the recorded time of completion, ISO 8601. `gone`: the outcome stays in doubt
 */
export async function endJob(
  tx: Transaction,
  scope: number,
  job: string,
  end: { completed: string } | 'failed' | 'gone',
  now: number,
): Promise<void> {
  const own = await sendOfJob(tx, scope, job);
  if (!own) return;
  const twice = 'SELECT 1 FROM sends WHERE scope = ? AND job_id = ? AND run = ? AND send <> ?';
  const isShared = await tx.get(twice, scope, job, own.run, own.send);
  const at = typeof end === 'object' && !isShared && own.run !== IDENTIFY ? end.completed : null;
  await tx.run(
    `UPDATE sends SET state = CASE WHEN send = ?3 THEN ?4 ELSE ${SEND.dead} END,
       completed_at = CASE WHEN send = ?3 THEN ?5 END, doubt = CASE WHEN send = ?3 AND ?6 = 0 THEN doubt ELSE ?7 END
     WHERE scope = ?1 AND job_id = ?2 AND state = ${SEND.pending}`,
    scope,
    job,
    own.send,
    at === null ? SEND.dead : SEND.completed,
    at,
    end === 'gone' ? 1 : 0,
    now,
  );
  const settle = `UPDATE requests SET state = 'settled' WHERE state = 'acknowledged' AND request IN
    (SELECT request FROM sends WHERE scope = ? AND job_id = ? AND run = ?)`;
  await tx.run(settle, scope, job, own.run);
}

/** Ends doubts that are too old. */
export async function endDoubts(tx: Transaction, now: number): Promise<void> {
  await tx.run('UPDATE sends SET doubt = NULL WHERE doubt <= ?', now - DOUBT_MS);
}

/** Removes the link between sends and requests that are sent again or deleted. Their jobs may still complete. */
export async function unlinkSends(tx: Transaction, requests: string, which: number | string): Promise<void> {
  await tx.run(
    `UPDATE sends SET request = NULL, state = CASE WHEN state = ${SEND.pending} AND job_id IS NULL
         THEN ${SEND.dead} ELSE state END WHERE request ${requests}`,
    which,
  );
}

/** The number of the last send of a kind; 0 if there is none. */
export const newestSend = (on: Reader, scope: number, kind: Kind): Promise<number> =>
  only(
    on,
    `SELECT coalesce(max(send), 0) AS found FROM sends WHERE scope = ? AND kind = ? AND state <> ${SEND.verified}`,
    scope,
    kind,
  );

export const lastSend = (on: Reader, run: string, seq: number): Promise<number> =>
  only(
    on,
    `SELECT coalesce(max(send), 0) AS found FROM sends JOIN requests USING (request)
     WHERE requests.run = ? AND seq = ?`,
    run,
    seq,
  );

/** The sends of the kind after this one, except those of this run. */
export async function othersSince(on: Reader, send: number, { scope, kind, run }: Whose): Promise<number[]> {
  const sql = 'SELECT send FROM sends WHERE scope = ? AND kind = ? AND send > ? AND run IS DISTINCT FROM ?';
  return (await on.all<{ send: number }>(sql, scope, kind, send, run)).map((row) => row.send);
}

export async function isOpen(on: Reader, send: number, now: number): Promise<boolean> {
  const sql = `SELECT 1 FROM sends WHERE send = ? AND (${HAS_JOB} OR doubt > ?)`;
  return (await on.get(sql, send, now - DOUBT_MS)) !== undefined;
}

/**
 * Open sends before a number, and some after it, oldest first. `job_id` is null if a send is only in doubt.
 */
export function openSends(
  on: Reader,
  scope: number,
  kind: Kind,
  before: number,
  others: readonly number[],
  now: number,
): Promise<SentRows[]> {
  const all = OF_KIND.replace('job_id', `CASE WHEN ${HAS_JOB} THEN job_id END AS job_id`);
  // Each part has an index of its own: there may be many more open sends than these.
  const parts = [HAS_JOB, 'doubt > ?4'].flatMap((isOpen) => [
    `${all} AND ${isOpen} AND send < ?3`,
    ...(others.length > 0 ? [`${all} AND ${isOpen} AND send IN (${others.join(', ')})`] : []),
  ]);
  return on.all(`${parts.join(' UNION ')} ORDER BY send`, scope, kind, before, now - DOUBT_MS);
}
