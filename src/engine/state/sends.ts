/**
 * The table `sends` (contract §3 "Only what changed", §4 "Across runs"): a small row for each time that a request or
 * profile is sent, numbered in order. The hashes of its rows are stored separately (`rows.ts`).
 *
 * A send is *open* while the service may still carry it out: its job is not known to have ended (`job_id`),
 * or it is not known whether it arrived (`doubt`). Ids that overlap with an open send are not remembered
 * (`overlaps.ts`).
 */

import type { Kind } from '../model.js';
import { isFinal } from '../service/names.js';
import type { Reader, Transaction, Value } from './database.js';
import type { OpenSend } from './open-jobs.js';
import type { RequestRecord } from './requests.js';

/**
 * The stored state of a send. Every send clears the fingerprints of its ids. When its job is seen to
 * complete, they are set. A dead send can no longer set them.
 */
export const SEND = { pending: 0, completed: 1, dead: 2 } as const;

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

/** The column `found` of a query that always has a row. */
const only = async <T>(on: Reader, sql: string, ...values: Value[]): Promise<T> =>
  (await on.get<{ found: T }>(sql, ...values))!.found;

/**
 * Adds a send, which is in doubt until there is an answer. `began`, the age of its data, is that of its run; for a
 * single profile, its own number.
 */
export async function addSend(
  tx: Transaction,
  send: number,
  { scope, kind, run, request, state }: Whose & { request: number | null; state: number },
  now: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO sends (send, scope, kind, run, request, state, doubt, began)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce((SELECT began FROM runs WHERE run = ?4), ?1))`,
    send,
    scope,
    kind,
    run,
    request,
    state,
    now,
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
  if (state === 'settled' && !hasNoEnd) return; // `endSends` has recorded the end of its job
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

/** Updates the send of a single profile: since when it is in doubt, and its job. */
export async function updateSingle(
  tx: Transaction,
  send: number,
  { doubt, job }: { doubt: number | null; job: string | null },
): Promise<void> {
  await tx.run('UPDATE sends SET doubt = ?, job_id = ? WHERE send = ?', doubt, job, send);
}

/**
 * Records that a job has ended, or is gone.
 * @param of `request`: the request of the job. Earlier requests with this job id can never be seen to complete
 * @param end `at`: the recorded time of completion, ISO 8601. `gone`: the outcome stays in doubt
 * @returns how many sends it had
 */
export function endSends(
  tx: Transaction,
  { scope, job, request }: { scope: number; job: string; request: number | null },
  end: { how: 'completed'; at: string | null } | { how: 'dead' | 'gone' },
  now: number,
): Promise<number> {
  const completed = end.how === 'completed';
  const isOwn = '(request IS NULL OR request = ?3)';
  return tx.run(
    `UPDATE sends SET job_id = NULL,
       state = CASE WHEN ${isOwn} THEN ?4 ELSE ${SEND.dead} END,
       completed_at = CASE WHEN ${isOwn} THEN ?7 END,
       doubt = CASE WHEN ${isOwn} AND ?5 = 1 THEN doubt ELSE ?6 END
     WHERE scope = ?1 AND job_id = ?2`,
    scope,
    job,
    request,
    completed ? SEND.completed : SEND.dead,
    end.how === 'gone' ? 0 : 1,
    now,
    completed ? end.at : null,
  );
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
  only(on, 'SELECT coalesce(max(send), 0) AS found FROM sends WHERE scope = ? AND kind = ?', scope, kind);

export const lastSend = (on: Reader, run: string, seq: number): Promise<number> =>
  only(
    on,
    `SELECT coalesce(max(send), 0) AS found FROM sends JOIN requests USING (request)
     WHERE requests.run = ? AND seq = ?`,
    run,
    seq,
  );

/** Whether anything except this run has sent profiles of the kind after this send. */
export async function isOthersSince(on: Reader, send: number, { scope, kind, run }: Whose): Promise<boolean> {
  const row = await on.get(
    'SELECT 1 FROM sends WHERE send > ? AND scope = ? AND kind = ? AND run IS DISTINCT FROM ? LIMIT 1',
    send,
    scope,
    kind,
    run,
  );
  return row !== undefined;
}

export async function isOpen(on: Reader, send: number, now: number): Promise<boolean> {
  const sql = 'SELECT 1 FROM sends WHERE send = ? AND (job_id IS NOT NULL OR doubt > ?)';
  return (await on.get(sql, send, now - DOUBT_MS)) !== undefined;
}

const OPEN = `SELECT send, run, job_id AS job, length(ids) / 8 AS rows
  FROM sends JOIN fingerprints USING (send) WHERE scope = ? AND kind = ?`;

/** Sends with an unfinished job, oldest first. */
export const withJob = (on: Reader, scope: number, kind: Kind): Promise<OpenSend[]> =>
  on.all(`${OPEN} AND job_id IS NOT NULL ORDER BY send`, scope, kind);

/** Open sends: those with an unfinished job, oldest first, then those without a job that are in doubt. */
export async function openSends(on: Reader, scope: number, kind: Kind, now: number): Promise<OpenSend[]> {
  const sql = `${OPEN} AND doubt > ? AND job_id IS NULL ORDER BY send`;
  const inDoubt = await on.all<OpenSend>(sql, scope, kind, now - DOUBT_MS);
  return [...(await withJob(on, scope, kind)), ...inDoubt];
}

/**
 * Sends of other runs with newer data than that of this run, oldest first. The run of a plan that was made with
 * another state may have the same number as an earlier run: then the ids of the runs decide, which begin with a
 * time in seconds.
 */
export const newerThan = (
  on: Reader,
  run: string,
  scope: number,
  kind: Kind,
): Promise<{ send: number; run: string }[]> =>
  on.all(
    `SELECT send, run FROM sends WHERE scope = ?1 AND kind = ?2 AND run <> ?3
       AND (began, CASE run WHEN '${IDENTIFY}' THEN '' ELSE run END) > (SELECT began, run FROM runs WHERE run = ?3)
       AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.request = sends.request AND requests.state IN ('withdrawn', 'divided'))
     ORDER BY send`,
    scope,
    kind,
    run,
  );
