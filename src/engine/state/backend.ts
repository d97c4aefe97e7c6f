/** What a kind of database gives to the state beside its tables. */
import type { Kind } from '../model.js';
import type { Database } from './database.js';
import type { Recorded } from './recorded.js';
import type { HeldLease, HeldLock, Scope, ShardOf } from './types.js';

/** A thread that waits for the disk in place of the main thread. */
export interface Writer {
  /** What is recorded from here on is written there, where there can be such a thread. It takes some 20 ms to start. */
  start(): Promise<void>;
  readonly isStarted: boolean;
  /** One transaction, on disk when it resolves, in turn with those of the database itself. @param ready called first */
  put(some: readonly Recorded[], ready: () => Promise<void>, now: number): Promise<void>;
  close(): Promise<void>;
}

export interface Backend {
  /** Where it is, without a password. */
  readonly name: string;
  /** Its tables are those of this version. */
  readonly db: Database;
  takeLock(scope: Scope, kind: Kind, holder: string, shard?: ShardOf): Promise<HeldLease | null>;
  isLocked(scope: Scope, kind: Kind): Promise<boolean>;
  lockHolder(scope: Scope, kind: Kind): Promise<string | null>;
  /** Shards of a run that a process has, or may have. Absent where shards of a run have no locks of their own. */
  liveShards?(run: string): Promise<number[]>;
  /** Those of any process. @param scopes all that are known */
  locks(scopes: readonly Scope[]): Promise<HeldLock[]>;
  /** Takes locks from processes that are gone, or with `force` from all. @returns those that were taken */
  unlock(force: boolean): Promise<HeldLock[]>;
  /** Called before each intent is recorded, and in the tick in which a request is written. @throws StateError when what is recorded would be lost, or a lock is */
  check(): void;
  /** Absent where no thread waits for a disk. */
  readonly writer?: Writer;
  /** What is wrong with the database itself, and rows that refer to none. */
  damages(): Promise<{ integrity: string[]; references: string[] }>;
  /** After rows were copied into it: the numbers that it gives out follow theirs. */
  copied(): Promise<void>;
  /** Of the database, on its disk. */
  bytes(): Promise<number>;
  /** Gives back room, after much was deleted. */
  shrink(): Promise<void>;
  /** @returns bytes. @throws UsageError where there is a file of that name; StateError where it cannot be written */
  backup(file: string): Promise<number>;
}
