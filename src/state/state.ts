/**
 * What this machine remembers (contract §4): runs, requests, jobs and fingerprints, in one SQLite
 * database. No tokens and no metadata are in it.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Kind, RunStatus, Summary } from '../model.js';
import type { Job } from '../service/contract.js';
import { isFinal } from '../service/names.js';
import { Commits } from './commits.js';
import { closeDatabase, openDatabase, privateFolder, stateError, transaction } from './database.js';
import { BATCH, type FingerprintIndex, Fingerprints, type Prints } from './fingerprints.js';
import { Jobs } from './jobs.js';
import { lockHolder, takeLock } from './lock.js';
import { type RequestRecord, Requests } from './requests.js';
import { Runs, type StoredRun } from './runs.js';

/** Whose service it is: state never crosses from one scope to another. */
export interface Scope {
  /** Configured account name, else a keyed hash of the token. */
  account: string;
  region: string;
  base_url: string;
}

/** A job that a command of this machine submitted, as it was last seen. */
export interface KnownJob {
  job_id: string;
  kind: Kind;
  scope: Scope;
  run: string | null;
  /** Items of its request. */
  rows: number;
  /** Last seen status; before the first poll, what the submission's reply said. */
  status: string;
  /** ISO 8601. */
  submitted_at: string;
  seen_at: string;
  /** The record as last seen. */
  record: Job;
}

/** An import known to this machine. */
export interface KnownRun {
  run: string;
  scope: Scope;
  kinds: Kind[];
  paths: string[];
  /** `running` while it has no end: it is running now, or it died. */
  status: RunStatus | 'running' | 'superseded';
  started_at: string;
  ended_at: string | null;
  /** The result document of its last sitting, where there is one; without the words that quote its rows. */
  summary: Summary | null;
}

export interface State {
  readonly folder: string;
  /** Key of every hash that is stored here: 32 random bytes, made with the database. */
  readonly secret: Buffer;
  /** The scope of a service: a configured account by its name, any other by a keyed hash of its token. */
  scope(service: { account: string | null; token: string; region: string; base_url: string }): Scope;
  /** Null when another import of this account and kind runs on this machine. */
  takeLock(scope: Scope, kind: Kind, holder?: string): (() => void) | null;
  /** What the holder of that lock says of itself. */
  lockHolder(scope: Scope, kind: Kind): string | null;

  /** Newest first. */
  knownRuns(): StoredRun[];
  startRun(run: Omit<StoredRun, 'kinds' | 'paths' | 'summary' | 'ended_at' | 'ended_by'>): void;
  reopenRun(run: string): void;
  endRun(
    run: string,
    end: { status: KnownRun['status']; finished: boolean; endedBy: string | null; summary: Summary | null },
  ): void;
  /** Whoever holds the lock of an account and kind knows that no run of theirs is running: those that say so died. */
  stopDead(scope: Scope, kind: Kind): void;
  setRejectsFile(run: string, input: number, file: string): void;
  /** Forgets a run, its requests and its spooled input; its jobs stay known. */
  forgetRun(run: string): void;
  /** Where a run's spooled input and private settings lie while it is unfinished. */
  spoolFolder(run: string): string;
  removeSpool(run: string): void;

  requests(run: string): RequestRecord[];
  /**
   * Commits a request as it stands, and resolves when that is on disk. `prints` comes with the first commit
   * of a sitting, the intent: it clears the fingerprints of the request's ids. An acknowledgement's job
   * becomes known with it. What is recorded in one turn of the event loop reaches the disk together, and before
   * what is recorded later; after one failure all that follows fails too. @throws StateError
   */
  record(run: string, scope: Scope, kind: Kind, request: RequestRecord, prints: Prints | null): Promise<void>;
  /** Resolves when all that was recorded is on disk. @throws StateError when some of it could not be */
  written(): Promise<void>;
  /** Ids of a recorded request, as hashed for its fingerprints. */
  idsOf(run: string, seq: number): BigUint64Array;

  /** Newest first. */
  knownJobs(): KnownJob[];
  /** A job submitted outside an import (`identify user`). */
  addJob(scope: Scope, job: Job, from: { kind: Kind; rows: number }): void;
  /** Records what a job looked like; one that is seen completed sets its request's fingerprints. Unknown jobs are ignored. */
  sawJob(scope: Scope, job: Job): void;
  /** Rows a second of this scope's past jobs of the kind, or null. */
  pace(scope: Scope, kind: Kind): number | null;

  fingerprints(scope: Scope, kind: Kind): FingerprintIndex;
  /** Clears the fingerprints of these ids, or without ids of the whole kind. */
  clearFingerprints(scope: Scope, kind: Kind, ids?: BigUint64Array): void;
  compactFingerprints(scope: Scope, kind: Kind): void;

  /** Types of the last import's columns, by key, for the warning when one changes. */
  columnTypes(scope: Scope, kind: Kind): Map<string, string>;
  setColumnTypes(scope: Scope, kind: Kind, types: ReadonlyMap<string, string>): void;

  close(): void;
}

/**
 * Opens the state of this machine, making it if needed.
 * @param now wall clock, milliseconds since the epoch
 * @throws StateError
 */
export function openState(folder: string, now: () => number): State {
  return new SqliteState(privateFolder(folder), now);
}

class SqliteState implements State {
  readonly secret: Buffer;
  readonly #db: DatabaseSyncInstance;
  readonly #commits: Commits;
  readonly #runs: Runs;
  readonly #requests: Requests;
  readonly #jobs: Jobs;
  readonly #fingerprints: Fingerprints;

  constructor(
    readonly folder: string,
    private readonly now: () => number,
  ) {
    this.#db = openDatabase(folder);
    this.#commits = new Commits(this.#db, folder);
    this.#runs = new Runs(this.#db);
    this.#requests = new Requests(this.#db);
    this.#jobs = new Jobs(this.#db);
    this.#fingerprints = new Fingerprints(this.#db);
    this.secret = this.#write(() => {
      const row = this.#db.prepare('SELECT key FROM secret').get() as { key: Uint8Array } | undefined;
      if (row) return Buffer.from(row.key);
      const key = randomBytes(32);
      this.#db.prepare('INSERT INTO secret (key) VALUES (?)').run(key);
      return key;
    });
  }

  scope(service: { account: string | null; token: string; region: string; base_url: string }): Scope {
    const hash = (): string =>
      createHmac('sha256', this.secret).update(service.token).digest('hex').slice(0, 16);
    return {
      account: service.account ?? `token:${hash()}`,
      region: service.region,
      base_url: service.base_url,
    };
  }

  takeLock(scope: Scope, kind: Kind, holder = ''): (() => void) | null {
    return takeLock(this.folder, scope, kind, holder);
  }

  lockHolder(scope: Scope, kind: Kind): string | null {
    return lockHolder(this.folder, scope, kind) || null;
  }

  knownRuns(): StoredRun[] {
    return this.#runs.all();
  }

  startRun(run: Parameters<State['startRun']>[0]): void {
    this.#write(() => this.#runs.insert(this.#scopeId(run.scope), run));
  }

  reopenRun(run: string): void {
    this.#write(() => this.#runs.reopen(run));
  }

  endRun(run: string, end: Parameters<State['endRun']>[1]): void {
    this.#write(() => this.#runs.end(run, { ...end, at: this.#time() }));
  }

  stopDead(scope: Scope, kind: Kind): void {
    this.#write(() => this.#runs.stopDead(this.#scopeId(scope), kind));
  }

  setRejectsFile(run: string, input: number, file: string): void {
    this.#write(() => this.#runs.setRejectsFile(run, input, file));
  }

  forgetRun(run: string): void {
    this.#write(() => {
      // Row ids are given out again, so nothing may go on naming requests that are gone.
      this.#fingerprints.forget(run);
      this.#jobs.forget(run);
      this.#runs.delete(run);
    });
    this.removeSpool(run);
  }

  spoolFolder(run: string): string {
    return privateFolder(join(this.folder, 'spool', run));
  }

  removeSpool(run: string): void {
    rmSync(join(this.folder, 'spool', run), { recursive: true, force: true });
  }

  requests(run: string): RequestRecord[] {
    return this.#requests.ofRun(run);
  }

  record(
    run: string,
    scope: Scope,
    kind: Kind,
    current: RequestRecord,
    prints: Prints | null,
  ): Promise<void> {
    // As it stands now: the caller goes on with it.
    const request = { ...current };
    return this.#commits.commit(() => {
      const known = this.#requests.idOf(run, request.seq);
      if (known !== null) this.#requests.update(run, request);
      const id = known ?? this.#requests.insert(run, request);
      if (prints) this.#fingerprints.resend(this.#scopeId(scope), kind, id, prints);
      if (request.job) {
        const from = { kind, rows: request.rows, request: id, run };
        this.#jobs.add(this.#scopeId(scope), request.job, from, this.#time());
      }
      if (request.state === 'intent') this.#fingerprints.revive(id);
      if (hasNoJobToCome(request)) this.#fingerprints.settle(id, BATCH.dead);
    });
  }

  written(): Promise<void> {
    return this.#commits.commit(() => {});
  }

  idsOf(run: string, seq: number): BigUint64Array {
    const id = this.#requests.idOf(run, seq);
    return id === null ? new BigUint64Array() : this.#fingerprints.idsOf(id);
  }

  knownJobs(): KnownJob[] {
    return this.#jobs.all();
  }

  addJob(scope: Scope, job: Job, from: { kind: Kind; rows: number }): void {
    this.#write(() =>
      this.#jobs.add(this.#scopeId(scope), job, { ...from, request: null, run: null }, this.#time()),
    );
  }

  sawJob(scope: Scope, job: Job): void {
    this.#write(() => {
      const seen = this.#jobs.saw(this.#scopeId(scope), job, this.#time());
      if (!seen?.request || !isFinal(job.status)) return;
      const whole = job.status === 'completed' && !isShort(job, seen.rows);
      this.#fingerprints.settle(seen.request, whole ? BATCH.completed : BATCH.dead);
      this.#requests.settle(seen.request);
    });
  }

  pace(scope: Scope, kind: Kind): number | null {
    return this.#jobs.pace(this.#scopeId(scope), kind);
  }

  fingerprints(scope: Scope, kind: Kind): FingerprintIndex {
    return this.#fingerprints.load(this.#scopeId(scope), kind);
  }

  clearFingerprints(scope: Scope, kind: Kind, ids?: BigUint64Array): void {
    this.#write(() => {
      const id = this.#scopeId(scope);
      if (!ids) this.#fingerprints.clear(id, kind);
      else this.#fingerprints.append(id, kind, null, { ids, contents: ids }, BATCH.dead);
    });
  }

  compactFingerprints(scope: Scope, kind: Kind): void {
    const compacted = this.#write(() => this.#fingerprints.compact(this.#scopeId(scope), kind));
    if (compacted) this.#db.exec('PRAGMA incremental_vacuum');
  }

  columnTypes(scope: Scope, kind: Kind): Map<string, string> {
    const row = this.#db
      .prepare('SELECT types FROM column_types WHERE scope = ? AND kind = ?')
      .get(this.#scopeId(scope), kind);
    return new Map(row ? (JSON.parse((row as { types: string }).types) as [string, string][]) : []);
  }

  setColumnTypes(scope: Scope, kind: Kind, types: ReadonlyMap<string, string>): void {
    this.#write(() => {
      this.#db
        .prepare('INSERT OR REPLACE INTO column_types (scope, kind, types) VALUES (?, ?, ?)')
        .run(this.#scopeId(scope), kind, JSON.stringify([...types]));
    });
  }

  close(): void {
    this.#commits.flush();
    closeDatabase(this.#db);
  }

  #scopeId(scope: Scope): number {
    const find = this.#db.prepare(
      'SELECT scope FROM scopes WHERE account = ? AND region = ? AND base_url = ?',
    );
    const key = [scope.account, scope.region, scope.base_url] as const;
    const row = find.get(...key);
    if (row) return (row as { scope: number }).scope;
    const add = this.#db.prepare('INSERT INTO scopes (account, region, base_url) VALUES (?, ?, ?)');
    return Number(add.run(...key).lastInsertRowid);
  }

  #time(): string {
    return new Date(this.now()).toISOString();
  }

  #write<T>(work: () => T): T {
    this.#commits.flush(); // what was recorded before comes before it
    try {
      return transaction(this.#db, work);
    } catch (error) {
      throw stateError(error, 'record', this.folder);
    }
  }
}

/** Nobody will hear of these rows again: they were not accepted, or no job can be followed. */
const hasNoJobToCome = ({ state, job }: RequestRecord): boolean =>
  state === 'withdrawn' || state === 'rejected' || (state === 'settled' && !(job && isFinal(job.status)));

/** Whether a job worked off fewer rows than its request had, or than it says there were. */
const isShort = ({ completed_rows, total_rows }: Job, rows: number): boolean =>
  completed_rows != null && completed_rows < Math.max(rows, total_rows ?? 0);
