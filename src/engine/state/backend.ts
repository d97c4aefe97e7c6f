/** What a kind of database provides to the state in addition to its tables. */
import type { Kind } from '../model.js';
import type { Database } from './database.js';
import type { Recorded } from './recorded.js';
import type { HeldLease, HeldLock, Scope, ShardOf } from './types.js';

/** A thread that waits for the disk instead of the main thread. */
export interface Writer {
  /** From here on, the thread writes what is recorded, if it can be started. That takes some 20 ms. */
  start(): Promise<void>;
  readonly isStarted: boolean;
  /**
   * Writes one transaction, which is on disk when this resolves. The database's own transactions wait for it. @param
   * ready called first
   */
  put(some: readonly Recorded[], ready: () => Promise<void>, now: number): Promise<void>;
  close(): Promise<void>;
}

export interface Backend {
  /** Its location, without a password. */
  readonly name: string;
  /** The database, upgraded to this version. */
  readonly db: Database;
  takeLock(scope: Scope, kind: Kind, holder: string, shard?: ShardOf): Promise<HeldLease | null>;
  isLocked(scope: Scope, kind: Kind): Promise<boolean>;
  lockHolder(scope: Scope, kind: Kind): Promise<string | null>;
  /** Shards of a run that a process has, or may have. Absent if shards have no locks of their own. */
  liveShards?(run: string): Promise<number[]>;
  /** Locks of all processes. @param scopes all that are known */
  locks(scopes: readonly Scope[]): Promise<HeldLock[]>;
  /** Takes locks from processes that are gone, or with `force` from all. @returns the locks that it took */
  unlock(force: boolean): Promise<HeldLock[]>;
  /**
   * Called before each intent is recorded, and in the tick in which a request is written. @throws StateError if
   * records would be lost, or a lock was
   */
  check(): void;
  /** Absent if the database needs no such thread. */
  readonly writer?: Writer;
  /** Damage of the database itself, and rows that refer to missing rows. */
  damages(): Promise<{ integrity: string[]; references: string[] }>;
  /** Call this after copying rows into it: new numbers then follow those of the rows. */
  copied(): Promise<void>;
  /** Size of the database on disk. */
  bytes(): Promise<number>;
  /** Frees disk space after much was deleted. */
  shrink(): Promise<void>;
  /** @returns bytes. @throws UsageError if the file exists; StateError if it cannot be written */
  backup(file: string): Promise<number>;
}
