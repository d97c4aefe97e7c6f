/**
 * What was sent and what became of it (contract §3 "Only what changed", §4 "Across runs"): a small row for each time
 * that ids went out, in order. The hashes of what went out lie beside it, in `fingerprints.ts`.
 *
 * A send is *open* while the service may still carry it out: a job of it is not known to have ended (`job_id`), or
 * nobody knows whether it arrived (`doubt`). What overlaps with an open send is not remembered (`overlaps.ts`).
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Kind } from '../model.js';
import { isFinal } from '../service/names.js';
import type { RequestRecord } from './requests.js';

/**
 * Where a send stands, as it is stored. Each clears the fingerprints of its ids; its job seen completed sets them;
 * one that is dead can no longer complete.
 */
export const SEND = { pending: 0, completed: 1, dead: 2 } as const;

/** For so long an outcome that nobody knows keeps other contents of its ids from being remembered (contract §4). */
const DOUBT_MS = 24 * 60 * 60 * 1_000;

/** How profiles that went out by themselves are named where a run would be. */
export const IDENTIFY = 'identify';

/** When the first and the last send that still counts were completed: ISO 8601, null where there is none. */
export interface StateAge {
  oldest_completed_at: string | null;
  newest_completed_at: string | null;
}

export interface NewSend {
  scope: number;
  kind: Kind;
  run: string | null;
  request: number | null;
  state: number;
}

/** An open send. `job` is null for one that is in doubt. */
export interface OpenSend {
  send: number;
  run: string | null;
  job: string | null;
}

export class Sends {
  /** How many jobs of each run ended here. */
  readonly #ends = new Map<string | null, number>();

  constructor(
    private readonly db: DatabaseSyncInstance,
    private readonly now: () => number,
  ) {}

  /**
   * Its data is as old as the beginning of its run; a profile by itself is as old as its sending.
   * @returns its number: larger than all before it, also those that are gone
   */
  add({ scope, kind, run, request, state }: NewSend): number {
    const { lastInsertRowid } = this.db
      .prepare(
        `INSERT INTO sends (scope, kind, run, request, state, began) VALUES (?1, ?2, ?3, ?4, ?5,
           coalesce((SELECT began FROM runs WHERE run = ?3), (SELECT seq + 1 FROM sqlite_sequence WHERE name = 'sends')))`,
      )
      .run(scope, kind, run, request, state);
    return Number(lastInsertRowid);
  }

  /**
   * A run begins: what was sent before is older than its data, what is sent from here on by others is newer.
   * @param planned since when that holds, ISO 8601, where its data is older than the run
   */
  begin(run: string, planned: string | null = null): void {
    this.db.exec("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'sends'");
    this.db
      .prepare("UPDATE runs SET began = (SELECT seq FROM sqlite_sequence WHERE name = 'sends') WHERE run = ?")
      .run(run);
    if (planned !== null) {
      // As old as the runs that began before it was planned, and older than all that began later.
      this.db
        .prepare(
          `UPDATE runs SET began = (
             SELECT coalesce(max(began), 0) FROM runs WHERE run <> ?1 AND started_at <= ?2) WHERE run = ?1
             AND EXISTS (SELECT 1 FROM runs WHERE run <> ?1 AND started_at > ?2)`,
        )
        .run(run, planned);
    }
    this.db.prepare('UPDATE sends SET doubt = NULL WHERE doubt <= ?').run(this.#doubtful());
  }

  /** A request as it is recorded now. It is in doubt from its intent on, until an answer says better. */
  stand(request: number, record: RequestRecord): void {
    const { state, job, possibleDuplicate } = record;
    const waits = state === 'intent' || state === 'unknown' || state === 'acknowledged';
    const untold = state === 'settled' && !(job && isFinal(job.status));
    const doubt =
      state === 'intent' || state === 'unknown' || untold || possibleDuplicate !== null ? this.now() : null;
    const from = state === 'intent' ? [SEND.pending, SEND.dead] : [SEND.pending];
    if (state === 'settled' && !untold) return; // its job's end has said all there is to say
    this.db
      .prepare(
        `UPDATE sends SET state = ?, doubt = ?, job_id = ? WHERE request = ? AND state IN (${from.join(', ')})`,
      )
      .run(
        waits ? SEND.pending : SEND.dead,
        doubt,
        state === 'acknowledged' ? (job?.job_id ?? null) : null,
        request,
      );
  }

  /** A profile that went out by itself: whether it is in doubt, and the job that has it. */
  standAlone(send: number, { doubt, job }: { doubt: boolean; job: string | null }): void {
    this.db
      .prepare('UPDATE sends SET doubt = ?, job_id = ? WHERE send = ?')
      .run(doubt ? this.now() : null, job, send);
  }

  /**
   * A job has ended, or is gone: then what it did is in doubt.
   * @param end `at`: when what it completed counts as completed, ISO 8601
   * @param request the one that it belongs to. An earlier one of the same job id has an end that nobody will see.
   */
  end(
    scope: number,
    job: string,
    request: number | null,
    end: { how: 'completed'; at: string | null } | { how: 'dead' | 'gone' },
  ): void {
    const completed = end.how === 'completed';
    const ended = this.db
      .prepare(
        `UPDATE sends SET job_id = NULL,
           state = CASE WHEN request IS NULL OR request = ?3 THEN ?4 ELSE ${SEND.dead} END,
           completed_at = CASE WHEN request IS NULL OR request = ?3 THEN ?7 END,
           doubt = CASE WHEN (request IS NULL OR request = ?3) AND ?5 THEN doubt ELSE ?6 END
         WHERE scope = ?1 AND job_id = ?2 RETURNING run`,
      )
      .all(
        scope,
        job,
        request,
        completed ? SEND.completed : SEND.dead,
        end.how === 'gone' ? 0 : 1,
        this.now(),
        completed ? end.at : null,
      ) as unknown as { run: string | null }[];
    for (const { run } of ended) this.#ends.set(run, (this.#ends.get(run) ?? 0) + 1);
  }

  /** How many jobs of other runs ended here, in this process. */
  endsOfOthers(than: string): number {
    let ends = 0;
    for (const [run, of] of this.#ends) if (run !== than) ends += of;
    return ends;
  }

  /** A request goes out again, or is forgotten. A job that has it may still complete. */
  letGo(requests: string, which: number | string): void {
    this.db
      .prepare(
        `UPDATE sends SET request = NULL, state = CASE WHEN state = ${SEND.pending} AND job_id IS NULL
           THEN ${SEND.dead} ELSE state END WHERE request ${requests}`,
      )
      .run(which);
  }

  /** All of a scope, and their fingerprints with them. */
  delete(scope: number): void {
    this.db.prepare('DELETE FROM sends WHERE scope = ?').run(scope);
  }

  /** Everything counts as changed from here on. */
  clear(scope: number, kind: Kind): void {
    this.db
      .prepare('UPDATE sends SET state = ? WHERE scope = ? AND kind = ? AND state = ?')
      .run(SEND.dead, scope, kind, SEND.completed);
  }

  /** Of all scopes and kinds, as stored: one whose ids were all sent since counts until compaction drops it. */
  age(): StateAge {
    const row = this.db
      .prepare(
        `SELECT min(completed_at) AS oldest_completed_at, max(completed_at) AS newest_completed_at
         FROM sends WHERE state = ?`,
      )
      .get(SEND.completed);
    return row as unknown as StateAge;
  }

  /** The number of the last one; 0 where there is none. */
  newest(scope: number, kind: Kind): number {
    const row = this.db
      .prepare('SELECT coalesce(max(send), 0) AS newest FROM sends WHERE scope = ? AND kind = ?')
      .get(scope, kind);
    return (row as { newest: number }).newest;
  }

  /** When the last of those that completed did; null where there is none. */
  lastCompleted(scope: number, kind: Kind): string | null {
    const row = this.db
      .prepare('SELECT max(completed_at) AS last FROM sends WHERE scope = ? AND kind = ? AND state = ?')
      .get(scope, kind, SEND.completed);
    return (row as { last: string | null }).last;
  }

  /** Whether others than a run have sent something since. */
  isOthersSince(
    send: number,
    { scope, kind, run }: { scope: number; kind: Kind; run: string | null },
  ): boolean {
    const row = this.db
      .prepare('SELECT 1 FROM sends WHERE send > ? AND scope = ? AND kind = ? AND run IS NOT ? LIMIT 1')
      .get(send, scope, kind, run);
    return row !== undefined;
  }

  /** The last one of a request; 0 where there is none. */
  lastOf(request: number): number {
    const row = this.db
      .prepare('SELECT coalesce(max(send), 0) AS last FROM sends WHERE request = ?')
      .get(request);
    return (row as { last: number }).last;
  }

  isOpen(send: number): boolean {
    const row = this.db
      .prepare('SELECT 1 FROM sends WHERE send = ? AND (job_id IS NOT NULL OR doubt > ?)')
      .get(send, this.#doubtful());
    return row !== undefined;
  }

  /** Those with an unfinished job, oldest first. */
  withJob(scope: number, kind: Kind): OpenSend[] {
    return this.db
      .prepare(
        'SELECT send, run, job_id AS job FROM sends WHERE scope = ? AND kind = ? AND job_id IS NOT NULL ORDER BY send',
      )
      .all(scope, kind) as unknown as OpenSend[];
  }

  /** Those without one that are in doubt, oldest first. */
  inDoubt(scope: number, kind: Kind): OpenSend[] {
    return this.db
      .prepare(
        `SELECT send, run, NULL AS job FROM sends WHERE scope = ? AND kind = ? AND doubt > ? AND job_id IS NULL
         ORDER BY send`,
      )
      .all(scope, kind, this.#doubtful()) as unknown as OpenSend[];
  }

  /** Those of others whose data is newer than this run's, oldest first. */
  newerThan(run: string, scope: number, kind: Kind): { send: number; run: string }[] {
    return this.db
      .prepare(
        `SELECT send, run FROM sends WHERE scope = ?1 AND kind = ?2 AND run <> ?3
           AND began > (SELECT began FROM runs WHERE run = ?3)
           AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.request = sends.request AND requests.state = 'withdrawn')
         ORDER BY send`,
      )
      .all(scope, kind, run) as unknown as { send: number; run: string }[];
  }

  /** Those of a run whose requests may have been carried out, oldest first. */
  ofRun(run: string, scope: number, kind: Kind): { send: number; seq: number }[] {
    return this.db
      .prepare(
        `SELECT send, seq FROM sends JOIN requests USING (request)
         WHERE scope = ? AND kind = ? AND sends.run = ?
           AND requests.state IN ('intent', 'unknown', 'acknowledged', 'settled') ORDER BY send`,
      )
      .all(scope, kind, run) as unknown as { send: number; seq: number }[];
  }

  #doubtful(): number {
    return this.now() - DOUBT_MS;
  }
}
