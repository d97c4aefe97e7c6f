/** What can be asked of the state. */
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
import type { HeldLease, HeldLock, KnownJob, KnownRun, Scope, ServiceInUse, ShardOf } from './types.js';

export interface State {
  readonly folder: string;
  /** Key of every hash that is stored here: 32 random bytes, made with the database. */
  readonly secret: Buffer;
  /** Rejects files that runs wrote. */
  readonly rejects: RejectsStore;
  /** Shards of a run; null where only one machine can reach the state. */
  readonly shards: ShardStore | null;
  /** The scope of a service: a configured account by its name, any other by a keyed hash of its token. */
  scope(service: ServiceInUse): Scope;
  /** For whoever imports with it. @throws UsageError where it has moved, or is being copied */
  refuseMoved(): Promise<void>;
  /** Null when another import of this account and kind runs on this machine. */
  takeLock(scope: Scope, kind: Kind, holder?: string, shard?: ShardOf): Promise<HeldLease | null>;
  /** Whether another process imports one of these kinds for this account. */
  isLocked(scope: Scope, kinds: readonly Kind[]): Promise<boolean>;
  /** What the holder of that lock says of itself. */
  lockHolder(scope: Scope, kind: Kind): Promise<string | null>;

  /**
   * Called in the tick in which a request is written.
   * @throws StateError when what is recorded would be lost; LockLostError when a lock that is held here no longer surely is
   */
  check(): void;

  /** Newest first. */
  knownRuns(which?: RunFilter): Promise<StoredRun[]>;
  /** @param plan requests that are to be sent, and when they were planned (ISO 8601): its data is as old as that */
  startRun(run: NewRun, plan?: { requests: readonly RequestRecord[]; at: string | null }): Promise<void>;
  reopenRun(run: string): Promise<void>;
  /**
   * A finished run continues: with requests that send rows of others again, with other options, and, for these inputs,
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
  /** Whoever holds the lock of an account and kind knows that no run of theirs is running: those that say so died. */
  markCrashedRuns(scope: Scope, kind: Kind, except?: string): Promise<void>;
  setRejectsFile(run: string, input: number, file: string): Promise<void>;
  /** Forgets a run, its requests and its spooled input; its jobs stay known, and the ids of those that are unfinished. */
  forgetRun(run: string): Promise<void>;
  /**
   * Forgets all that is known of a scope: its runs, jobs, fingerprints and column types. For the holder of its locks.
   * @returns how many runs and jobs there were
   */
  forgetScope(scope: Scope): Promise<{ runs: number; jobs: number }>;
  /** Where a run's spooled input and private settings lie while it is unfinished. */
  spoolFolder(run: string): string;
  /** Runs that have such a folder on this machine. */
  spools(): string[];
  removeSpool(run: string): void;

  requests(run: string): Promise<RequestRecord[]>;
  /**
   * Commits a request as it stands, and resolves when that is on disk. `prints` comes with the first commit
   * of a session, the intent: it clears the fingerprints of the request's ids. An acknowledgement's job
   * becomes known with it; it waits some milliseconds for the next intent. What is recorded in one turn of the event loop reaches the disk together, and before
   * what is recorded later; after one failure all that follows fails too. Ids that another open send holds are not
   * remembered; `shared` names those that appear more than once in the input. `rows` comes with `prints`.
   * @throws StateError also when the database or a lock in use was removed or replaced, for a request that is to go out
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
  /** Commits several requests, none of which goes out now: all of them, or none. @throws StateError */
  recordAll(run: string, scope: Scope, kind: Kind, requests: readonly RequestRecord[]): Promise<void>;
  /** Many requests are about to be recorded: worth a thread that waits for the disk. */
  recordMany(): Promise<void>;
  /** Resolves when all that was recorded is on disk. @throws StateError when some of it could not be */
  written(): Promise<void>;
  /** Ids of a recorded request, as hashed for its fingerprints. */
  idsOf(run: string, seq: number): Promise<BigUint64Array>;
  /** The number of its last sending; 0 where none is known. */
  lastSend(run: string, seq: number): Promise<number>;
  /** Ids that others have sent whose data is newer than the run's. */
  sentLater(run: string, scope: Scope, kind: Kind): Promise<LaterSends>;
  /**
   * Ids that the run itself has sent.
   * @param placeOf in which order they count, by the number of the request; 0: not at all
   */
  sentByRun(run: string, scope: Scope, kind: Kind, placeOf: (seq: number) => number): Promise<LaterSends>;
  /**
   * Unfinished jobs of other runs, or without a run all of them: those of `last`, where others have sent nothing since.
   * `newest` is the number of the last send.
   */
  openJobs(
    scope: Scope,
    kind: Kind,
    run: string | null,
    last?: { jobs: OpenJobs; newest: number },
  ): Promise<{ jobs: OpenJobs; newest: number }>;

  /** Rows that the plan of a run rejected, in place of those that it found before. */
  setRejected(
    run: string,
    scope: Scope,
    kind: Kind,
    rejected: { ids: BigUint64Array; lines: readonly InputLines[] },
  ): Promise<void>;
  /** Rows that a request sent, and those that it left out; null where that is not known. */
  rowsOf(run: string, seq: number): ReturnType<History['ofRequest']>;
  /** What happened to a profile, in all accounts, newest first. @param id its keyed hash */
  history(kind: Kind, id: bigint): Promise<HistoryEntry[]>;
  /** Lets go of rows and entries that are older. @param before milliseconds since the epoch */
  pruneHistory(before: number): Promise<void>;

  /** Newest first. */
  knownJobs(): Promise<KnownJob[]>;
  /**
   * A profile goes out by itself, as one without fingerprints. What becomes of it is in doubt until it is said.
   * @returns its number
   */
  startProfile(scope: Scope, kind: Kind, ids: BigUint64Array): Promise<number>;
  /** It was carried out, or did not arrive; or, with `doubt`, nobody knows. `note` says which, for its history. */
  endProfile(send: number, doubt: boolean, note?: 'submitted' | 'unsent'): Promise<void>;
  /** A job submitted outside an import (`identify user`), maybe of such a profile. */
  addJob(
    scope: Scope,
    job: Job,
    from: { kind: Kind; rows: number; send?: number; doubt?: boolean },
  ): Promise<void>;
  /** Records what a job looked like; one that is seen completed sets its request's fingerprints. Unknown jobs are ignored. */
  updateJob(scope: Scope, job: Job): Promise<void>;
  /** The service answers 404 for a job. @returns since when it does, milliseconds since the epoch: kept from the first time */
  missingJob(scope: Scope, job_id: string): Promise<number>;
  /** It answers for it. */
  foundJob(scope: Scope, job_id: string): Promise<void>;
  /** The service no longer knows it: its request is settled, and what it did is in doubt. */
  lostJob(scope: Scope, job_id: string): Promise<void>;
  /** Rows a second of this scope's past jobs of the kind, or null. */
  throughput(scope: Scope, kind: Kind): Promise<number | null>;

  /**
   * What was completed last of each id (contract §3 "Only what changed"), as it stands now.
   * @param since ISO 8601: what was completed earlier, or nobody knows when, counts as unknown
   */
  fingerprints(scope: Scope, kind: Kind, since?: string | null): Promise<FingerprintIndex>;
  /** The cells of a send, in the order of its rows; null where they are not remembered. */
  cells(send: number): Promise<CellColumns | null>;
  /** A number that is another one once ids of the kind were sent since. */
  newestFingerprints(scope: Scope, kind: Kind): Promise<number>;
  /** A text that is another one once something has been sent, or seen completed, since. */
  fingerprintsMark(scope: Scope, kind: Kind): Promise<string>;
  /** Clears those of the whole kind. */
  clearFingerprints(scope: Scope, kind: Kind): Promise<void>;
  /** @param ids how many of the kind are remembered, at least: it need not count what is not worth dropping */
  compactFingerprints(scope: Scope, kind: Kind, ids?: number): Promise<void>;

  /** Types of the last import's columns, by key, for the warning when one changes. */
  columnTypes(scope: Scope, kind: Kind): Promise<Map<string, string>>;
  setColumnTypes(scope: Scope, kind: Kind, types: ReadonlyMap<string, string>): Promise<void>;

  /** What it holds, and how old that is. Reads all fingerprints. */
  overview(): Promise<StateOverview>;
  /** How old the fingerprints are, without reading them. */
  age(): Promise<StateAge>;
  /** Locks that another process holds now. */
  locks(): Promise<HeldLock[]>;
  /**
   * Takes locks from processes that are gone, or with `force` from all: an import that runs then stops before its next
   * request. Locks of a state directory are the operating system's, and stay.
   * @returns those that were taken
   */
  unlock(force: boolean): Promise<HeldLock[]>;
  /** Bytes that the database takes. */
  size(): Promise<number>;
  /** What is wrong with it: in the database, and between its records. None where all is well. */
  problems(): Promise<StateProblem[]>;
  /**
   * Writes a copy as it stands at one moment, to a new file of mode 0600. Others may write to the state in the meantime.
   * @param file absolute
   * @returns its bytes
   * @throws UsageError where there is a file of that name; StateError where it cannot be written
   */
  backup(file: string): Promise<number>;

  close(): Promise<void>;
}
