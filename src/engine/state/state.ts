/**
 * What this machine remembers (contract §4): runs, requests, jobs and fingerprints, in one SQLite
 * database. No tokens and no metadata are in it. Each table's SQL is in a file of its own; what one transaction
 * does to several of them is said here.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { FingerprintColumns, FingerprintIndex } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import type { Job } from '../service/contract.js';
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
import { Fingerprints } from './fingerprints.js';
import { History, type HistoryEntry, type RequestRows } from './history.js';
import { FilesInUse } from './in-use.js';
import type { State } from './interface.js';
import { JobEnds } from './job-ends.js';
import { Jobs } from './jobs.js';
import { Locks } from './lock.js';
import type { LaterSends } from './open-jobs.js';
import { overviewOf, type StateOverview } from './overview.js';
import { RejectsFiles } from './rejects.js';
import { type RequestRecord, Requests } from './requests.js';
import { shortId } from './row-lists.js';
import { Runs, type StoredRun } from './runs.js';
import { readSecret, Scopes, sameScope, scopeOf } from './scopes.js';
import { Sends, type StateAge } from './sends.js';
import { SentRows } from './sent-rows.js';
import type { HeldLock, KnownJob, Scope, ServiceInUse } from './types.js';

export { databaseFile } from './database.js';
export type { State } from './interface.js';
export type { StateAge } from './sends.js';
export type { HeldLock, KnownJob, Scope } from './types.js';

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
  readonly rejects: RejectsFiles;
  readonly #db: DatabaseSyncInstance;
  readonly #inUse: FilesInUse;
  readonly #locks: Locks;
  readonly #commits: Commits;
  readonly #scopes: Scopes;
  readonly #runs: Runs;
  readonly #requests: Requests;
  readonly #jobs: Jobs;
  readonly #jobEnds: JobEnds;
  readonly #sends: Sends;
  readonly #fingerprints: Fingerprints;
  readonly #sent: SentRows;
  readonly #history: History;

  constructor(
    readonly folder: string,
    private readonly now: () => number,
  ) {
    this.#db = openDatabase(folder);
    this.#inUse = new FilesInUse(databaseFile(folder));
    this.#locks = new Locks(folder, this.#inUse);
    this.#commits = new Commits(this.#db, folder);
    this.#scopes = new Scopes(this.#db);
    this.#runs = new Runs(this.#db);
    this.rejects = new RejectsFiles(this.#db, (put) => this.#write(() => put(this.#time())));
    this.#requests = new Requests(this.#db);
    this.#jobs = new Jobs(this.#db);
    this.#sends = new Sends(this.#db, now);
    this.#jobEnds = new JobEnds(this.#jobs, this.#sends, this.#requests);
    this.#fingerprints = new Fingerprints(this.#db);
    this.#sent = new SentRows(this.#sends, this.#fingerprints);
    this.#history = new History(this.#db);
    this.secret = this.#write(() => readSecret(this.#db));
  }

  scope(service: ServiceInUse): Scope {
    return scopeOf(service, this.secret);
  }

  takeLock(scope: Scope, kind: Kind, holder = ''): (() => void) | null {
    return this.#locks.take(scope, kind, holder);
  }

  isLocked(scope: Scope, kinds: readonly Kind[]): boolean {
    return kinds.some((kind) => this.#locks.isHeld(scope, kind));
  }

  lockHolder(scope: Scope, kind: Kind): string | null {
    return this.#locks.holder(scope, kind);
  }

  knownRuns(): StoredRun[] {
    return this.#runs.all();
  }

  startRun(run: Parameters<State['startRun']>[0], plan?: Parameters<State['startRun']>[1]): void {
    this.#write(() => {
      this.#runs.insert(this.#scopes.idOf(run.scope), run);
      this.#sends.begin(run.run, plan?.at ?? null);
      for (const request of plan?.requests ?? []) this.#requests.insert(run.run, request);
    });
  }

  reopenRun(run: string): void {
    this.#sent.forgetSession();
    this.#write(() => this.#runs.reopen(run));
  }

  retryRun(run: string, { options, requests, newRejects }: Parameters<State['retryRun']>[1]): void {
    this.#write(() => {
      this.#runs.retry(run, options, newRejects);
      for (const request of requests) this.#requests.insert(run, request);
    });
  }

  endRun(run: string, end: Parameters<State['endRun']>[1]): void {
    this.#write(() => this.#runs.end(run, { ...end, at: this.#time() }));
  }

  markCrashedRuns(scope: Scope, kind: Kind): void {
    this.#write(() => this.#runs.markCrashedRuns(this.#scopes.idOf(scope), kind));
  }

  setRejectsFile(run: string, input: number, file: string): void {
    this.#write(() => this.#runs.setRejectsFile(run, input, file));
  }

  forgetRun(run: string): void {
    this.#write(() => {
      // Row ids are given out again, so nothing may go on naming requests that are gone.
      this.#sends.letGo('IN (SELECT request FROM requests WHERE run = ?)', run);
      this.#jobs.forget(run);
      this.rejects.forget(run);
      this.#runs.delete(run);
    });
    this.removeSpool(run);
  }

  forgetScope(scope: Scope): { runs: number; jobs: number } {
    const runs = this.#runs.all().filter((run) => sameScope(run.scope, scope));
    const jobs = this.#write(() => {
      const id = this.#scopes.idOf(scope);
      for (const { run } of runs) {
        this.rejects.forget(run);
        this.#runs.delete(run);
      }
      this.#sends.delete(id);
      this.#scopes.forgetColumnTypes(id);
      return this.#jobs.delete(id);
    });
    for (const { run } of runs) this.removeSpool(run);
    return { runs: runs.length, jobs };
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
    prints: FingerprintColumns | null,
    shared: ReadonlySet<bigint> = new Set(),
    rows: RequestRows | null = null,
  ): Promise<void> {
    // It may go out once this is on disk. What is accepted is recorded wherever it still can be.
    if (current.state === 'intent' || current.state === 'unknown') this.#inUse.check();
    // As it stands now: the caller goes on with it.
    const request = { ...current };
    return this.#commits.commit(() => this.#put(run, scope, kind, request, prints, shared, rows));
  }

  recordAll(...[run, scope, kind, requests]: Parameters<State['recordAll']>): Promise<void> {
    const all = requests.map((request) => ({ ...request }));
    return this.#commits.commit(() => {
      for (const request of all) this.#put(run, scope, kind, request, null, new Set(), null);
    });
  }

  /** Within a transaction. */
  #put(...[run, scope, kind, request, prints, shared, rows]: Required<Parameters<State['record']>>): void {
    const known = this.#requests.idOf(run, request.seq);
    if (known !== null) this.#requests.update(run, request);
    const id = known ?? this.#requests.insert(run, request);
    const of = { run, scope: this.#scopes.idOf(scope), kind, request: id };
    if (prints) this.#sent.add(of, prints, shared);
    if (prints && rows) this.#history.putRequest({ ...of, at: this.now() }, prints.ids, rows);
    if (request.job) {
      const from = { kind, rows: request.rows, request: id, run };
      this.#jobs.add(of.scope, request.job, from, this.#time());
    }
    this.#sends.stand(id, request);
  }

  written(): Promise<void> {
    return this.#commits.commit(() => {});
  }

  idsOf(run: string, seq: number): BigUint64Array {
    return this.#fingerprints.of(this.lastSend(run, seq)).ids;
  }

  lastSend(run: string, seq: number): number {
    const id = this.#requests.idOf(run, seq);
    return id === null ? 0 : this.#sends.lastOf(id);
  }

  sentLater(run: string, scope: Scope, kind: Kind): LaterSends {
    return this.#sent.laterThan(run, this.#scopes.idOf(scope), kind);
  }

  sentByRun(...[run, scope, ...rest]: Parameters<State['sentByRun']>): LaterSends {
    return this.#sent.byRun(run, this.#scopes.idOf(scope), ...rest);
  }

  openJobs(...[scope, ...rest]: Parameters<State['openJobs']>): ReturnType<State['openJobs']> {
    return this.#sent.openJobs(this.#scopes.idOf(scope), ...rest);
  }

  knownJobs(): KnownJob[] {
    return this.#jobs.all();
  }

  startProfile(scope: Scope, kind: Kind, ids: BigUint64Array): number {
    this.#inUse.check();
    return this.#write(() => {
      const send = this.#sent.addProfile(this.#scopes.idOf(scope), kind, ids);
      this.#history.putProfile(send, this.#scopes.idOf(scope), kind, ids, this.now());
      return send;
    });
  }

  endProfile(send: number, doubt: boolean, note?: 'submitted' | 'unsent'): void {
    this.#write(() => {
      this.#sends.standAlone(send, { doubt, job: null });
      this.#history.noteProfile(send, { note: note ?? null });
    });
  }

  setRejected(...[run, scope, kind, { ids, lines }]: Parameters<State['setRejected']>): void {
    this.#write(() => {
      const of = { run, scope: this.#scopes.idOf(scope), kind, at: this.now() };
      this.#history.putRejected(of, ids, lines);
    });
  }

  rowsOf(run: string, seq: number): ReturnType<History['ofRequest']> {
    return this.#history.ofRequest(run, seq);
  }

  history(kind: Kind, id: bigint): HistoryEntry[] {
    return this.#read(() => this.#history.find(kind, shortId(id)));
  }

  pruneHistory(before: number): void {
    if (this.#write(() => this.#history.prune(before))) this.#db.exec('PRAGMA incremental_vacuum');
  }

  addJob(scope: Scope, job: Job, from: Parameters<State['addJob']>[2]): void {
    this.#write(() => {
      const { send, doubt = false, ...rest } = from;
      this.#jobs.add(this.#scopes.idOf(scope), job, { ...rest, request: null, run: null }, this.#time());
      if (send === undefined) return;
      this.#sends.standAlone(send, { doubt, job: job.job_id });
      this.#history.noteProfile(send, { job: job.job_id });
    });
  }

  updateJob(scope: Scope, job: Job): void {
    this.#write(() => this.#jobEnds.saw(this.#scopes.idOf(scope), job, this.#time()));
  }

  lostJob(scope: Scope, job_id: string): void {
    this.#write(() => this.#jobEnds.lost(this.#scopes.idOf(scope), job_id, this.#time()));
  }

  throughput(scope: Scope, kind: Kind): number | null {
    return this.#jobs.throughput(this.#scopes.idOf(scope), kind);
  }

  newestFingerprints(scope: Scope, kind: Kind): number {
    return this.#sends.newest(this.#scopes.idOf(scope), kind);
  }

  fingerprintsMark(scope: Scope, kind: Kind): string {
    const id = this.#scopes.idOf(scope);
    return `${this.#sends.newest(id, kind)} ${this.#sends.lastCompleted(id, kind) ?? 'never'}`;
  }

  fingerprints(scope: Scope, kind: Kind, since: string | null = null): FingerprintIndex {
    return this.#fingerprints.load(this.#scopes.idOf(scope), kind, since, this.#time());
  }

  clearFingerprints(scope: Scope, kind: Kind): void {
    this.#write(() => this.#sends.clear(this.#scopes.idOf(scope), kind));
  }

  compactFingerprints(scope: Scope, kind: Kind, ids = 0): void {
    const compacted = this.#write(() => this.#fingerprints.compact(this.#scopes.idOf(scope), kind, ids));
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
    return this.#read(() => this.#sends.age());
  }

  locks(): HeldLock[] {
    return this.#locks.held(this.#scopes.all());
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
