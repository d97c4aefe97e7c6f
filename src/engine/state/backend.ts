/** The interface of a kind of database: SQLite or PostgreSQL. */
import type { FingerprintColumns } from '../fingerprints/index.js';
import type { RequestRecord } from '../model/requests.js';
import type { Kind } from '../model.js';
import type { Scope } from './access.js';
import type { Database } from './database.js';
import type { RequestRows } from './history.js';

/** A request as it is now, and what it sends. Only plain data, because it may be sent to another thread. */
export interface Recorded {
  run: string;
  scope: Scope;
  kind: Kind;
  request: RequestRecord;
  /** The rows of an intent; null for other changes. `session`: see `Access.session`. */
  sent: (IntentRows & { session: number }) | null;
}

/** The rows of a request that is about to be sent. */
export interface IntentRows {
  /**
   * Their fingerprints, which clear earlier ones of the same ids. Ids that another open send has are not remembered,
   * except for `shared` ones.
   */
  prints: FingerprintColumns;
  /** Ids that appear more than once in the inputs of the kind. */
  shared: ReadonlySet<bigint>;
  /** For the history; null if it is not kept. */
  rows: RequestRows | null;
}

/** A lock on imports of one account and kind that this process holds. */
export interface HeldLease {
  /** Changes the description of the holder. */
  rename(holder: string): Promise<void>;
  release(): Promise<void>;
}

/** A lock on imports of one account and kind, for display. */
export interface HeldLock extends Scope {
  kind: Kind;
  /** The description of the process that has it: the run and its files; null if there is none. */
  holder: string | null;
  /** Seconds since its last heartbeat; null with SQLite, which needs no heartbeats. */
  heartbeat_age: number | null;
  /** Whether it has not expired. Otherwise, its process is gone, or cannot reach the database. */
  fresh: boolean;
}

/** The locks on imports, one for each account and kind. */
export interface Locks {
  /**
   * Null if another process has it.
   * @param holder description of this process for others
   */
  take(scope: Scope, kind: Kind, holder?: string): Promise<HeldLease | null>;
  /**
   * Locks that processes hold now, of all accounts or of one. In PostgreSQL, also those that have expired (`fresh` is
   * false).
   */
  held(scope?: Scope): Promise<HeldLock[]>;
  /**
   * Releases locks of processes that are gone, or with `force` of all processes: a running import then stops
   * before its next request. With SQLite it does nothing, because the operating system releases locks.
   * @returns the released locks
   */
  unlock(force: boolean): Promise<HeldLock[]>;
  /**
   * Checks that records are not lost and that this process still has its locks. Called before each intent is recorded,
   * and in the tick of the event loop in which a request is written to its socket.
   * @throws StateError if the database or a lock file was removed; LockLostError if a lease may be lost
   */
  check(): void;
}

export interface Backend {
  /** Its location for messages, without a password. */
  readonly name: string;
  /** This machine, if the database is shared by several; otherwise empty. */
  readonly machine: string;
  /** The database, upgraded to this version. */
  readonly db: Database;
  readonly locks: Locks;
  /** Checks the database itself: its integrity and, if that holds, its references. @returns messages by check */
  damages(): Promise<Partial<Record<'integrity' | 'references', string[]>>>;
  /** Size of the database on disk, in bytes. */
  size(): Promise<number>;
  /** Frees disk space after much was deleted. */
  shrink(): Promise<void>;
}
