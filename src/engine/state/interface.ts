/** The interface of the state. */
import type { FingerprintColumns, FingerprintIndex } from '../fingerprint-index.js';
import type { Kind, Summary } from '../model.js';
import type { Job } from '../service/contract.js';
import type { CellColumns } from '../stored-cells.js';
import type { StateProblem } from './check.js';
import type { History, HistoryEntry, RequestRows } from './history.js';
import type { LaterSends, OpenJobs } from './open-jobs.js';
import type { StateOverview } from './overview.js';
import type { RejectsStore } from './rejects.js';
import type { RequestRecord } from './requests.js';
import type { InputLines } from './row-lists.js';
import type { NewRun, RunFilter, StoredRun } from './runs.js';
import type {
  HeldLease,
  HeldLock,
  KnownJob,
  KnownRun,
  Made,
  Scope,
  ServiceInUse,
  StateAge,
} from './types.js';

export interface State {
  /** The state directory of this machine. */
  readonly folder: string;
  /** This machine, if others share the state; otherwise empty. */
  readonly machine: string;
  /** The key of all stored hashes: 32 random bytes, created with the database. */
  readonly secret: Buffer;
  /** Records of rejects files. */
  readonly rejects: RejectsStore;
  /**
   * The scope of a service. An account without a configured name is identified by a keyed hash of its token.
   */
  scope(service: ServiceInUse): Scope;
  /**
   * Call this before an import.
   * @throws UsageError if the state has moved, or another one is being copied to it
   */
  refuseMoved(): Promise<void>;
  /**
   * Takes the lock on imports of an account and kind. Null if another import has it.
   * @param holder description of this process for others
   */
  takeLock(scope: Scope, kind: Kind, holder?: string): Promise<HeldLease | null>;
  /** Whether another process has the lock on one of these kinds. */
  isLocked(scope: Scope, kinds: readonly Kind[]): Promise<boolean>;
  /** The description of the process that has the lock; null if it is not known. */
  lockHolder(scope: Scope, kind: Kind): Promise<string | null>;

  /**
   * Checks that records are not lost and that this process still has its locks. Called in the tick of the
   * event loop in which a request is written to its socket.
   * @throws StateError if the database or a lock file was removed; LockLostError if a lease may be lost
   */
  check(): void;

  /** Runs, newest first. */
  knownRuns(which?: RunFilter): Promise<StoredRun[]>;
  /**
   * Records a new run.
   * @param plan for a saved plan: its requests, and when it was made, which is the age of its data; null counts as
   * now
   */
  startRun(run: NewRun, plan?: { requests: readonly RequestRecord[]; made: Made | null }): Promise<void>;
  /** Marks an unfinished run as running again. */
  reopenRun(run: string): Promise<void>;
  /**
   * Reopens a run with other options.
   * @param retry `requests`: added to the run, to send rows of earlier ones again; `newRejects`: indexes of
   * inputs that get a new rejects file
   */
  retryRun(
    run: string,
    retry: { options: unknown; requests: readonly RequestRecord[]; newRejects: readonly number[] },
  ): Promise<void>;
  /** Records that a session of a run ended. @param end `endedBy`: code of the error that ended it, or null */
  endRun(
    run: string,
    end: { status: KnownRun['status']; finished: boolean; endedBy: string | null; summary: Summary | null },
  ): Promise<void>;
  /**
   * Marks runs of this account and kind that are recorded as running as crashed. Only for the process with
   * the lock, since then none of them is running.
   */
  markCrashedRuns(scope: Scope, kind: Kind): Promise<void>;
  /** Records the path of the rejects file of an input. */
  setRejectsFile(run: string, input: number, file: string): Promise<void>;
  /** Deletes a run, its requests, and its spooled input. Keeps its jobs, and the ids of unfinished ones. */
  forgetRun(run: string): Promise<void>;
  /**
   * Deletes everything about a scope: runs, jobs, fingerprints, and column types. Only for the process with
   * its locks.
   * @returns how many runs and jobs it deleted
   */
  forgetScope(scope: Scope): Promise<{ runs: number; jobs: number }>;
  /**
   * The private folder of a run on this machine, for spooled inputs and private values. Created if needed.
   */
  spoolFolder(run: string): string;
  /** All such folders, and when each was changed last, milliseconds since the epoch. */
  spools(): { run: string; changedAt: number }[];
  /** Deletes such a folder, if it exists. */
  removeSpool(run: string): void;

  /** The requests of a run, in the order of their numbers. */
  requests(run: string): Promise<RequestRecord[]>;
  /**
   * Records a request as it is now, and resolves when that is on disk. An acknowledgement also records the
   * job, and may wait a few milliseconds for the next intent. Calls in one turn of the event loop are written
   * together. After a failure, all later calls fail.
   * @param prints fingerprints of its rows; only for the first commit of a session, which is the intent. They
   * clear earlier fingerprints of the same ids. Ids that another open send has are not remembered, except for
   * `shared` ones
   * @param shared ids that appear more than once in the inputs of the kind
   * @param rows its rows for the history, together with `prints`
   * @throws StateError; for a request that is about to be sent, also as `check` does
   */
  record(
    run: string,
    scope: Scope,
    kind: Kind,
    request: RequestRecord,
    prints: FingerprintColumns | null,
    shared?: ReadonlySet<bigint>,
    rows?: RequestRows | null,
  ): Promise<void>;
  /** Records several requests in one transaction. None of them may be about to be sent. @throws StateError */
  recordAll(run: string, scope: Scope, kind: Kind, requests: readonly RequestRecord[]): Promise<void>;
  /** Call this before recording many requests: starts a thread that writes them, if the database has one. */
  startWriter(): Promise<void>;
  /**
   * Resolves when everything recorded so far is on disk.
   * @throws StateError if something could not be written
   */
  written(): Promise<void>;
  /** Keyed hashes of the ids in the last send of a request, in the order of its rows. */
  idsOf(run: string, seq: number): Promise<BigUint64Array>;
  /** The number of the last send of a request; 0 if there is none. */
  lastSend(run: string, seq: number): Promise<number>;
  /**
   * Finds ids that other runs have sent with newer data than that of this run.
   * @param last the previous result, which is returned again if others have sent nothing since
   */
  sentLater(
    run: string,
    scope: Scope,
    kind: Kind,
    last?: { newest: number; ids: LaterSends },
  ): Promise<{ newest: number; ids: LaterSends }>;
  /**
   * Finds ids that this run has sent.
   * @param placeOf returns the position of a request by its number; 0: the request does not count
   */
  sentByRun(run: string, scope: Scope, kind: Kind, placeOf: (seq: number) => number): Promise<LaterSends>;
  /**
   * Finds unfinished jobs of other runs, with the ids of their rows.
   * @param run null: jobs of all runs
   * @param last the previous result, which is returned again if others have sent nothing since
   * @returns `newest`: the number of the last send
   */
  openJobs(
    scope: Scope,
    kind: Kind,
    run: string | null,
    last?: { jobs: OpenJobs; newest: number },
  ): Promise<{ jobs: OpenJobs; newest: number }>;

  /** Replaces the rows that the plan of a run rejected. */
  setRejected(
    run: string,
    scope: Scope,
    kind: Kind,
    rejected: { ids: BigUint64Array; lines: readonly InputLines[] },
  ): Promise<void>;
  /** The rows that a request sent and left out; null if they were pruned or never recorded. */
  rowsOf(run: string, seq: number): ReturnType<History['ofRequest']>;
  /** The history of a profile in all accounts, newest first. @param id its keyed hash */
  history(kind: Kind, id: bigint): Promise<HistoryEntry[]>;
  /** Deletes older entries of the history. @param before milliseconds since the epoch */
  pruneHistory(before: number): Promise<void>;

  /** Jobs, newest first. */
  knownJobs(): Promise<KnownJob[]>;
  /**
   * Records a profile that is about to be sent outside an import (`identify`), without fingerprints. Its
   * outcome is in doubt until `endProfile`.
   * @returns the number of the send
   */
  startProfile(scope: Scope, kind: Kind, ids: BigUint64Array): Promise<number>;
  /**
   * Records the outcome of such a profile.
   * @param doubt whether the outcome is unknown
   * @param note the outcome for the history
   */
  endProfile(send: number, doubt: boolean, note?: 'submitted' | 'unsent'): Promise<void>;
  /**
   * Records a job that was submitted outside an import.
   * @param from `send`: the profile that it belongs to, if any
   */
  addJob(
    scope: Scope,
    job: Job,
    from: { kind: Kind; rows: number; send?: number; doubt?: boolean },
  ): Promise<void>;
  /**
   * Records a job as it was seen. If it has completed, the fingerprints of its request are set. Ignores jobs
   * that the state does not have.
   */
  updateJob(scope: Scope, job: Job): Promise<void>;
  /** Records that a job answers 404. @returns when it first did so, milliseconds since the epoch */
  missingJob(scope: Scope, job_id: string): Promise<number>;
  /** Records that a job answers again. */
  foundJob(scope: Scope, job_id: string): Promise<void>;
  /** Records that the service no longer has a job. Its request is settled, and its outcome is in doubt. */
  lostJob(scope: Scope, job_id: string): Promise<void>;
  /** Rows per second of past jobs of this scope and kind; null if that is not known. */
  throughput(scope: Scope, kind: Kind): Promise<number | null>;

  /**
   * The last completed content of each id (contract §3 "Only what changed").
   * @param since ISO 8601: what was completed earlier, or at an unknown time, counts as unknown
   */
  fingerprints(scope: Scope, kind: Kind, since?: string | null): Promise<FingerprintIndex>;
  /** Hashes of the cells of a send, in the order of its rows; null if they were not recorded. */
  cells(send: number): Promise<CellColumns | null>;
  /**
   * Gives the saved plan of a run its number, in the order of sends and runs. When the run begins, its data is as old
   * as the plan.
   */
  numberPlan(run: string, scope: Scope): Promise<number>;
  /** Whether there is data older than that of a run that may still be sent: an unfinished run, or a saved plan. */
  mayBeOverwritten(run: string, scope: Scope, kind: Kind): Promise<boolean>;
  /** Records ids of rows that a run found unchanged: older data counts as sent before (`sentLater`). */
  keepVerified(run: string, scope: Scope, kind: Kind, ids: BigUint64Array): Promise<void>;
  /** A number that changes when ids of the kind are sent. */
  newestFingerprints(scope: Scope, kind: Kind): Promise<number>;
  /** A text that changes when something is sent, or seen completed. */
  fingerprintsMark(scope: Scope, kind: Kind): Promise<string>;
  /** Clears the fingerprints of the whole kind. */
  clearFingerprints(scope: Scope, kind: Kind): Promise<void>;
  /**
   * Deletes outdated fingerprints.
   * @param ids a lower bound for the number of ids, which may save reading all rows
   */
  compactFingerprints(scope: Scope, kind: Kind, ids?: number): Promise<void>;

  /** Column types of the last import by key, for warnings about changed types. */
  columnTypes(scope: Scope, kind: Kind): Promise<Map<string, string>>;
  setColumnTypes(scope: Scope, kind: Kind, types: ReadonlyMap<string, string>): Promise<void>;

  /** The content of the state and its age. Reads all fingerprints. */
  overview(): Promise<StateOverview>;
  /** The age of the fingerprints, without reading them. */
  age(): Promise<StateAge>;
  /** Locks that processes hold now. In PostgreSQL, also those that have expired (`fresh` is false). */
  locks(): Promise<HeldLock[]>;
  /**
   * Releases locks of processes that are gone, or with `force` of all processes: a running import then stops
   * before its next request. With SQLite it does nothing, because the operating system releases locks.
   * @returns the released locks
   */
  unlock(force: boolean): Promise<HeldLock[]>;
  /** Size of the database in bytes. */
  size(): Promise<number>;
  /** Checks the database and its records. @returns the problems; none if everything is in order */
  problems(): Promise<StateProblem[]>;
  /**
   * Writes a consistent copy to a new file of mode 0600. Others may write to the state in the meantime.
   * @param file absolute
   * @returns its size in bytes
   * @throws UsageError if the file exists; StateError if it cannot be written
   */
  backup(file: string): Promise<number>;

  close(): Promise<void>;
}
