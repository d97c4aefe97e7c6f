/**
 * What this machine remembers (contract §4): runs, requests, jobs and fingerprints, in one SQLite
 * database. No tokens and no metadata are in it. Each table's SQL is in a file of its own; what one transaction
 * does to several of them is said here.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { KINDS, type Kind } from '../model.js';
import type { Job } from '../service/contract.js';
import { isFinal, isShort } from '../service/names.js';
import { backupTo } from './backup.js';
import { problemsOf, type StateProblem } from './check.js';
import { Commits } from './commits.js';
import {
  closeDatabase,
  databaseFile,
  openDatabase,
  privateFolder,
  refuseShared,
  stateError,
  transaction,
} from './database.js';
import type { FingerprintIndex, Prints } from './fingerprint-index.js';
import { BATCH, Fingerprints, type StateAge } from './fingerprints.js';
import { FilesInUse } from './in-use.js';
import { Jobs } from './jobs.js';
import { isLocked, lockFile, lockHolder, takeLock } from './lock.js';
import { overviewOf, type StateOverview } from './overview.js';
import { type RequestRecord, Requests } from './requests.js';
import { Runs, type StoredRun } from './runs.js';
import { readSecret, Scopes, scopeOf } from './scopes.js';
import type { HeldLock, KnownJob, Scope, ServiceInUse, State } from './types.js';

export type { StateAge } from './fingerprints.js';
export type { HeldLock, KnownJob, Scope, State } from './types.js';

/**
 * Opens the state of this machine, making it if needed.
 * @param now wall clock, milliseconds since the epoch
 * @throws StateError; ConfigError for a directory that others can write to
 */
export function openState(folder: string, now: () => number): State {
  refuseShared(privateFolder(folder));
  return new SqliteState(folder, now);
}

class SqliteState implements State {
  readonly secret: Buffer;
  readonly #db: DatabaseSyncInstance;
  readonly #inUse: FilesInUse;
  readonly #commits: Commits;
  readonly #scopes: Scopes;
  readonly #runs: Runs;
  readonly #requests: Requests;
  readonly #jobs: Jobs;
  readonly #fingerprints: Fingerprints;

  constructor(
    readonly folder: string,
    private readonly now: () => number,
  ) {
    this.#db = openDatabase(folder);
    this.#inUse = new FilesInUse(databaseFile(folder));
    this.#commits = new Commits(this.#db, folder);
    this.#scopes = new Scopes(this.#db);
    this.#runs = new Runs(this.#db);
    this.#requests = new Requests(this.#db);
    this.#jobs = new Jobs(this.#db);
    this.#fingerprints = new Fingerprints(this.#db);
    this.secret = this.#write(() => readSecret(this.#db));
  }

  scope(service: ServiceInUse): Scope {
    return scopeOf(service, this.secret);
  }

  takeLock(scope: Scope, kind: Kind, holder = ''): (() => void) | null {
    const release = takeLock(this.folder, scope, kind, holder);
    if (!release) return null;
    const letGo = this.#inUse.hold(lockFile(this.folder, scope, kind));
    return () => {
      letGo();
      release();
    };
  }

  lockHolder(scope: Scope, kind: Kind): string | null {
    return lockHolder(this.folder, scope, kind) || null;
  }

  knownRuns(): StoredRun[] {
    return this.#runs.all();
  }

  startRun(run: Parameters<State['startRun']>[0]): void {
    this.#write(() => this.#runs.insert(this.#scopes.idOf(run.scope), run));
  }

  reopenRun(run: string): void {
    this.#write(() => this.#runs.reopen(run));
  }

  endRun(run: string, end: Parameters<State['endRun']>[1]): void {
    this.#write(() => this.#runs.end(run, { ...end, at: this.#time() }));
  }

  stopDead(scope: Scope, kind: Kind): void {
    this.#write(() => this.#runs.stopDead(this.#scopes.idOf(scope), kind));
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

  async record(
    run: string,
    scope: Scope,
    kind: Kind,
    current: RequestRecord,
    prints: Prints | null,
  ): Promise<void> {
    // It may go out once this is on disk. What is accepted is recorded wherever it still can be.
    if (current.state === 'intent' || current.state === 'unknown') this.#inUse.check();
    // As it stands now: the caller goes on with it.
    const request = { ...current };
    return this.#commits.commit(() => {
      const known = this.#requests.idOf(run, request.seq);
      if (known !== null) this.#requests.update(run, request);
      const id = known ?? this.#requests.insert(run, request);
      if (prints) this.#fingerprints.resend(this.#scopes.idOf(scope), kind, id, prints);
      if (request.job) {
        const from = { kind, rows: request.rows, request: id, run };
        this.#jobs.add(this.#scopes.idOf(scope), request.job, from, this.#time());
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
      this.#jobs.add(this.#scopes.idOf(scope), job, { ...from, request: null, run: null }, this.#time()),
    );
  }

  sawJob(scope: Scope, job: Job): void {
    this.#write(() => {
      const id = this.#scopes.idOf(scope);
      // Until then it had not ended. Nobody knows how much later it did, so the age of what it completed counts from here.
      const unfinishedAt = this.#jobs.seenAt(id, job.job_id);
      const seen = this.#jobs.saw(id, job, this.#time());
      if (!seen?.request || !isFinal(job.status)) return;
      const whole = job.status === 'completed' && !isShort(job, seen.rows);
      if (whole) this.#fingerprints.settle(seen.request, BATCH.completed, unfinishedAt);
      else this.#fingerprints.settle(seen.request, BATCH.dead);
      this.#requests.settle(seen.request);
    });
  }

  pace(scope: Scope, kind: Kind): number | null {
    return this.#jobs.pace(this.#scopes.idOf(scope), kind);
  }

  newestFingerprints(scope: Scope, kind: Kind): number {
    return this.#fingerprints.newest(this.#scopes.idOf(scope), kind);
  }

  fingerprints(scope: Scope, kind: Kind, since: string | null = null): FingerprintIndex {
    return this.#fingerprints.load(this.#scopes.idOf(scope), kind, since);
  }

  clearFingerprints(scope: Scope, kind: Kind, ids?: BigUint64Array): void {
    this.#write(() => {
      const id = this.#scopes.idOf(scope);
      if (!ids) this.#fingerprints.clear(id, kind);
      else
        this.#fingerprints.append(
          id,
          kind,
          null,
          { ids, contents: ids, records: new BigUint64Array() },
          BATCH.dead,
        );
    });
  }

  compactFingerprints(scope: Scope, kind: Kind): void {
    const compacted = this.#write(() => this.#fingerprints.compact(this.#scopes.idOf(scope), kind));
    if (compacted) this.#db.exec('PRAGMA incremental_vacuum');
  }

  columnTypes(scope: Scope, kind: Kind): Map<string, string> {
    return this.#scopes.columnTypes(scope, kind);
  }

  setColumnTypes(scope: Scope, kind: Kind, types: ReadonlyMap<string, string>): void {
    this.#write(() => this.#scopes.setColumnTypes(scope, kind, types));
  }

  overview(): StateOverview {
    return this.#read(() => overviewOf(this.#db, this.#fingerprints));
  }

  age(): StateAge {
    return this.#read(() => this.#fingerprints.age());
  }

  locks(): HeldLock[] {
    const locks = this.#scopes.all().flatMap((scope) => KINDS.map((kind) => ({ ...scope, kind })));
    return locks
      .filter(({ kind, ...scope }) => isLocked(this.folder, scope, kind))
      .map((lock) => ({ ...lock, holder: this.lockHolder(lock, lock.kind) }));
  }

  problems(): StateProblem[] {
    return this.#read(() => problemsOf(this.#db));
  }

  backup(file: string): number {
    this.#commits.flush();
    return backupTo(this.#db, file);
  }

  close(): void {
    this.#commits.flush();
    closeDatabase(this.#db);
  }

  #time(): string {
    return new Date(this.now()).toISOString();
  }

  #read<T>(work: () => T): T {
    this.#commits.flush();
    try {
      return work();
    } catch (error) {
      throw stateError(error, 'read the state', this.folder);
    }
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
