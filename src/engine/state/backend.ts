/** The interface of a kind of database: SQLite or PostgreSQL. */
import type { Kind } from '../model.js';
import type { Database } from './database.js';
import type { Recorded } from './recorded.js';
import type { HeldLease, HeldLock, Scope } from './types.js';

/** A thread that writes records, so that the main thread does not wait for the disk. */
export interface Writer {
  /**
   * Starts the thread, which takes about 20 ms. If it cannot be started, the main thread continues to write.
   */
  start(): Promise<void>;
  readonly isStarted: boolean;
  /**
   * Writes one transaction, which is on disk when this resolves. Transactions of the main thread wait for it.
   * @param ready called first; if it rejects, nothing is written
   * @param now wall clock, milliseconds since the epoch
   */
  put(some: readonly Recorded[], ready: () => Promise<void>, now: number): Promise<void>;
  close(): Promise<void>;
}

export interface Backend {
  /** Its location for messages, without a password. */
  readonly name: string;
  /** This machine, if the database is shared by several; otherwise empty. */
  readonly machine: string;
  /** The database, upgraded to this version. */
  readonly db: Database;
  /** Null if another process has the lock. */
  takeLock(scope: Scope, kind: Kind, holder: string): Promise<HeldLease | null>;
  isLocked(scope: Scope, kind: Kind): Promise<boolean>;
  lockHolder(scope: Scope, kind: Kind): Promise<string | null>;
  /** Locks that processes hold. With leases, also expired ones. @param scopes all scopes in the database */
  locks(scopes: readonly Scope[]): Promise<HeldLock[]>;
  /**
   * Releases locks of processes that are gone, or with `force` of all processes.
   * @returns the released locks
   */
  unlock(force: boolean): Promise<HeldLock[]>;
  /**
   * Checks the database and the locks of this process. Called before each intent is recorded, and in the tick
   * of the event loop in which a request is written to its socket.
   * @throws StateError if the database or a lock file was removed; LockLostError if a lease may be lost
   */
  check(): void;
  /** Absent if the database needs no such thread. */
  readonly writer?: Writer;
  /** Checks the database itself. @returns messages: damage, and rows that refer to missing rows */
  damages(): Promise<{ integrity: string[]; references: string[] }>;
  /** Call this after copying rows with their ids into it, so that ids of new rows follow them. */
  copied(): Promise<void>;
  /** Size of the database on disk, in bytes. */
  bytes(): Promise<number>;
  /** Frees disk space after much was deleted. */
  shrink(): Promise<void>;
  /** @returns the size in bytes. @throws UsageError if the file exists; StateError if it cannot be written */
  backup(file: string): Promise<number>;
}
