/**
 * The SQLite backend: one database in the state directory, and the locks: an exclusive transaction on a small SQLite file for each, so the operating system
 * releases it when its process dies (contract §4).
 */
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { StateError, StateLostError } from '../../errors.js';
import type { Kind } from '../../model.js';
import { privateFile } from '../../util/private-folder.js';
import { addScope, idOf, type Scope, sameScope } from '../access.js';
import type { Backend, HeldLock, Locks } from '../backend.js';
import { type Database, upsertInto } from '../database.js';
import { databaseFile, stateError, stateFolder } from '../folder.js';
import { damagesOf, openDatabase } from './database.js';

/**
 * Opens the database of a folder, and upgrades it.
 * @throws StateError, also if a newer version wrote the database
 */
export function openSqlite(folder: string): Backend {
  const db = openDatabase(folder);
  const file = databaseFile(folder);
  return {
    name: `sqlite:${folder}`,
    machine: '',
    db,
    locks: locksIn(folder, file, db),
    damages: () => damagesOf(db),
    size: async () => statSync(file).size,
    shrink: () => db.alone((connection) => connection.exec('PRAGMA incremental_vacuum')),
  };
}

/** The error code of SQLite if another connection has locked the file. */
const SQLITE_BUSY = 5;

/** How long `take` waits. `held` has the lock for less time than this; an import has it longer. */
const WAIT_MS = 100;

/** @param database path of the database, which was just opened */
function locksIn(folder: string, database: string, db: Database): Locks {
  const opened = identityOf(database);
  /**
   * The files of locks that this process has, and what holds them: garbage collection would close it. Writes to a removed
   * file are lost, so these must stay as they are.
   */
  const files = new Map<string, { identity: string | undefined; taken: DatabaseSyncInstance }>();

  const check = (): void => {
    const changed = changeOf(database, opened);
    if (changed !== null) {
      throw new StateLostError(`${database} was ${changed} while it was in use; nothing more is sent`, {
        hint: 'no record of this run is left; stop whatever removes the state directory, then import the files again',
      });
    }
    for (const [file, { identity }] of files) {
      const change = changeOf(file, identity);
      if (change === null) continue;
      throw new StateError(`the lock ${file} was ${change} while it was in use; nothing more is sent`, {
        hint: 'another import may have started in the meantime: look at the runs, then resume this one',
        problem: { code: 'lock_lost' },
      });
    }
  };

  const describe = (scope: Scope, kind: Kind, holder: string): Promise<void> =>
    db.write(async (tx) => {
      await addScope(tx, scope);
      await tx.run(upsertInto('leases', 'scope, kind', { scope: idOf(scope), kind, holder }, ['holder']));
    });

  return {
    check,
    take: async (scope, kind, words = '') => {
      const file = lockFile(folder, scope, kind);
      const taken = exclusive(file, WAIT_MS, 'take the lock');
      if (!taken) return null;
      try {
        await describe(scope, kind, words);
      } catch (error) {
        taken.close();
        throw stateError(error, 'take the lock', file);
      }
      files.set(file, { identity: identityOf(file), taken });
      return {
        rename: (words) => describe(scope, kind, words),
        release: async () => {
          files.delete(file);
          taken.close();
        },
      };
    },
    held: async (scope) => {
      const query = `SELECT account, region, base_url, kind, holder FROM leases JOIN scopes USING (scope)
        ORDER BY account, region, base_url, kind`;
      const known = await db.read((on) => on.all<HeldLock & { holder: string }>(query));
      return known
        .filter((lock) => (scope === undefined || sameScope(lock, scope)) && isTaken(folder, lock))
        .map((lock) => ({ ...lock, holder: lock.holder || null, heartbeat_age: null, fresh: true }));
    },
    unlock: async () => [],
  };
}

/** Opens a file with an exclusive transaction. Null if another connection has one. */
function exclusive(file: string, timeout: number, doing: string): DatabaseSyncInstance | null {
  let db: DatabaseSyncInstance | undefined;
  try {
    privateFile(file);
    db = new DatabaseSync(file, { timeout });
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db?.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw stateError(error, doing, file);
  }
}

/** Whether a process has it. Takes it for a moment to find out; an import waits that long. */
function isTaken(folder: string, { kind, ...scope }: Scope & { kind: Kind }): boolean {
  const taken = exclusive(lockFile(folder, scope, kind), 0, 'look at the lock');
  taken?.close();
  return taken === null;
}

/** The path of the file of a lock. The file may not exist yet. */
function lockFile(folder: string, scope: Scope, kind: Kind): string {
  const { account, region, base_url } = scope;
  const name = hash('sha256', JSON.stringify([account, region, base_url, kind]), 'hex').slice(0, 24);
  return join(stateFolder(folder, 'locks'), `${name}.lock`);
}

/** Identifies a file independently of its name. Undefined if it does not exist or cannot be reached. */
function identityOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

function changeOf(file: string, before: string | undefined): 'removed' | 'replaced' | null {
  const now = identityOf(file);
  return now === before ? null : now === undefined ? 'removed' : 'replaced';
}
