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
import type { StateAge } from './sends.js';
import type { ShardStore } from './shards.js';
import type { HeldLease, HeldLock, KnownJob, KnownRun, Made, Scope, ServiceInUse, ShardOf } from './types.js';

export interface State {
  readonly folder: string;
  /** The key of every stored hash: 32 random bytes, created with the database. */
  readonly secret: Buffer;
  /** The rejects files of runs. */
  readonly rejects: RejectsStore;
  /** The shards of runs; null if only one machine can reach the state. */
  readonly shards: ShardStore | null;
  /** The scope of a service: a configured account by its name, any other by a keyed hash of its token. */
  scope(service: ServiceInUse): Scope;
  /** Call this before an import. @throws UsageError if the state has moved, or is being copied */
  refuseMoved(): Promise<void>;
  /** Null if another import of this account and kind is running. */
  takeLock(scope: Scope, kind: Kind, holder?: string, shard?: ShardOf): Promise<HeldLease | null>;
  /** Whether another process has the lock on one of these kinds. */
  isLocked(scope: Scope, kinds: readonly Kind[]): Promise<boolean>;
  /** How the holder of that lock describes itself. */
  lockHolder(scope: Scope, kind: Kind): Promise<string | null>;

  /**
   * Called in the tick in which a request is written.
   * @throws StateError if records would be lost; LockLostError if a lock of this process may be lost
   */
  check(): void;

  /** Newest first. */
  knownRuns(which?: RunFilter): Promise<StoredRun[]>;
  /** @param plan requests to send, and when they were planned, which is how old their data is; null: now */
  startRun(run: NewRun, plan?: { requests: readonly RequestRecord[]; made: Made | null }): Promise<void>;
  reopenRun(run: string): Promise<void>;
  /**
   * Reopens a finished run: with requests that send rows of others again, with other options, and for these inputs
   * with a new rejects file.
   */
  retryRun(
    run: string,
    retry: { options: unknown; requests: readonly RequestRecord[]; newRejects: readonly number[] },
  ): Promise<void>;
  endRun(
    run: string,
    end: { status: KnownRun['status']; finished: boolean; endedBy: string | null; summary: Summary | null },
  ): Promise<void>;
  /**
   * Marks unfinished runs of this account and kind as crashed. Only for the holder of the lock, which knows that none
   * of them is running.
   */
  markCrashedRuns(scope: Scope, kind: Kind, except?: string): Promise<void>;
  setRejectsFile(run: string, input: number, file: string): Promise<void>;
  /** Forgets a run, its requests, and its spooled input. Its jobs stay known, and so do the ids of unfinished ones. */
  forgetRun(run: string): Promise<void>;
  /**
   * Forgets everything about a scope: runs, jobs, fingerprints, and column types. Only for the holder of its locks.
   * @returns how many runs and jobs it had
   */
  forgetScope(scope: Scope): Promise<{ runs: number; jobs: number }>;
  /** The folder of a run's spooled input and private settings, while it is unfinished. */
  spoolFolder(run: string): string;
  /** Names of these folders on this machine. */
  spools(): string[];
  removeSpool(run: string): void;

  requests(run: string): Promise<RequestRecord[]>;
  /**
   * Records a request as it is now, and resolves when that is on disk. `prints` and `rows` come with the first commit
   * of a session, the intent: it clears the fingerprints of the request's ids. An acknowledgement also records the
   * job, and waits some milliseconds for the next intent. Calls in one turn of the event loop are written together and
   * before later ones; after a failure, all later calls fail. Ids that another open send has are not remembered,
   * except for `shared`, which appear more than once in the input.
   * @throws StateError also if the database or a lock in use was removed or replaced, for a request that is about to
   * be sent
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
  /** Records several requests, none of which is sent now, in one transaction. @throws StateError */
  recordAll(run: string, scope: Scope, kind: Kind, requests: readonly RequestRecord[]): Promise<void>;
  /** Call this before many requests are recorded: starts a thread that waits for the disk. */
  recordMany(): Promise<void>;
  /** Resolves when everything that was recorded is on disk. @throws StateError if some of it could not be written */
  written(): Promise<void>;
  /** Ids of a recorded request, as hashed for its fingerprints. */
  idsOf(run: string, seq: number): Promise<BigUint64Array>;
  /** The number of the request's last send; 0 if none is known. */
  lastSend(run: string, seq: number): Promise<number>;
  /**
   * Ids that were sent by others with newer data than the run's.
   * @param last the previous result, which is used again if nothing was sent since
   */
  sentLater(
    run: string,
    scope: Scope,
    kind: Kind,
    last?: { newest: number; ids: LaterSends },
  ): Promise<{ newest: number; ids: LaterSends }>;
  /**
   * Ids that the run itself has sent.
   * @param placeOf gives the order of requests, by their numbers; 0: the request does not count
   */
  sentByRun(run: string, scope: Scope, kind: Kind, placeOf: (seq: number) => number): Promise<LaterSends>;
  /**
   * Unfinished jobs of other runs, or without a run of all. Returns `last` if others have sent nothing since. `newest`
   * is the number of the last send.
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
  /** Rows that a request sent and left out; null if that is not known. */
  rowsOf(run: string, seq: number): ReturnType<History['ofRequest']>;
  /** The history of a profile in all accounts, newest first. @param id its keyed hash */
  history(kind: Kind, id: bigint): Promise<HistoryEntry[]>;
  /** Deletes older rows and entries. @param before milliseconds since the epoch */
  pruneHistory(before: number): Promise<void>;

  /** Newest first. */
  knownJobs(): Promise<KnownJob[]>;
  /**
   * Records a profile that is sent outside an import, without fingerprints. Its outcome is in doubt until
   * `endProfile`.
   * @returns its number
   */
  startProfile(scope: Scope, kind: Kind, ids: BigUint64Array): Promise<number>;
  /** Records its outcome: carried out or not arrived, or with `doubt`, unknown. `note` says which, for the history. */
  endProfile(send: number, doubt: boolean, note?: 'submitted' | 'unsent'): Promise<void>;
  /** Records a job that was submitted outside an import (`identify user`), for such a profile if given. */
  addJob(
    scope: Scope,
    job: Job,
    from: { kind: Kind; rows: number; send?: number; doubt?: boolean },
  ): Promise<void>;
  /** Records a job as it was seen. A completed job sets the fingerprints of its request. Unknown jobs are ignored. */
  updateJob(scope: Scope, job: Job): Promise<void>;
  /** Records that a job answers 404. @returns when that began, milliseconds since the epoch */
  missingJob(scope: Scope, job_id: string): Promise<number>;
  /** Records that a job answers again. */
  foundJob(scope: Scope, job_id: string): Promise<void>;
  /** Records that the service no longer knows a job: its request is settled, and its outcome is in doubt. */
  lostJob(scope: Scope, job_id: string): Promise<void>;
  /** Rows per second of this scope's past jobs of the kind, or null. */
  throughput(scope: Scope, kind: Kind): Promise<number | null>;

  /**
   * The last completed content of each id (contract §3 "Only what changed").
   * @param since ISO 8601: what was completed earlier, or at an unknown time, counts as unknown
   */
  fingerprints(scope: Scope, kind: Kind, since?: string | null): Promise<FingerprintIndex>;
  /** The cells of a send, in the order of its rows; null if they are not remembered. */
  cells(send: number): Promise<CellColumns | null>;
  /** The number of the last send or beginning of a run, in the order of their commits. */
  lastNumber(): Promise<number>;
  /** A number that changes when ids of the kind are sent. */
  newestFingerprints(scope: Scope, kind: Kind): Promise<number>;
  /** A text that changes when something is sent, or seen completed. */
  fingerprintsMark(scope: Scope, kind: Kind): Promise<string>;
  /** Clears the fingerprints of the whole kind. */
  clearFingerprints(scope: Scope, kind: Kind): Promise<void>;
  /** Drops outdated fingerprints. @param ids how many ids of the kind are remembered, at least: saves counting them */
  compactFingerprints(scope: Scope, kind: Kind, ids?: number): Promise<void>;

  /** Column types of the last import by key, for the warning about changes. */
  columnTypes(scope: Scope, kind: Kind): Promise<Map<string, string>>;
  setColumnTypes(scope: Scope, kind: Kind, types: ReadonlyMap<string, string>): Promise<void>;

  /** What the state holds, and how old that is. Reads all fingerprints. */
  overview(): Promise<StateOverview>;
  /** How old the fingerprints are, without reading them. */
  age(): Promise<StateAge>;
  /** Locks that another process holds now. */
  locks(): Promise<HeldLock[]>;
  /**
   * Takes locks from processes that are gone, or with `force` from all: a running import then stops before its next
   * request. Locks of a state directory belong to the operating system, and are not taken.
   * @returns the locks that it took
   */
  unlock(force: boolean): Promise<HeldLock[]>;
  /** Size of the database in bytes. */
  size(): Promise<number>;
  /** Problems of the database and of its records; none if all is well. */
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
