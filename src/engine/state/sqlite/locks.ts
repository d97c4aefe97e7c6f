/**
 * The locks of a state directory: an exclusive transaction on a small SQLite file for each, so the operating system
 * releases it when its process dies (contract §4).
 */
import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { StateError, StateLostError } from '../../errors.js';
import { KINDS, type Kind } from '../../model.js';
import { NO_LINK } from '../../util/owner.js';
import { privateFile } from '../../util/private-folder.js';
import type { Locks } from '../backend.js';
import type { Database } from '../database.js';
import { stateError, stateFolder } from '../folder.js';
import { allScopes } from '../scopes.js';
import type { Scope } from '../types.js';

/** The error code of SQLite if another connection has locked the file. */
const SQLITE_BUSY = 5;

/** How long `take` waits. `isHeld` has the lock for less time than this; an import has it longer. */
const WAIT_MS = 100;

/** The connections that hold locks. Without these references, garbage collection would close them. */
const held = new Set<DatabaseSyncInstance>();

/** @param database path of the database, which was just opened */
export function locksIn(folder: string, database: string, db: Database): Locks {
  const opened = identityOf(database);
  /** The files of locks that this process has. Writes to a removed file are lost, so these must stay as they are. */
  const files = new Map<string, Identity | undefined>();

  const check = (): void => {
    const changed = changeOf(database, opened);
    if (changed !== null) {
      throw new StateLostError(`${database} was ${changed} while it was in use; nothing more is sent`, {
        hint: 'no record of this run is left; stop whatever removes the state directory, then import the files again',
      });
    }
    for (const [file, identity] of files) {
      const change = changeOf(file, identity);
      if (change === null) continue;
      throw new StateError(`the lock ${file} was ${change} while it was in use; nothing more is sent`, {
        hint: 'another import may have started in the meantime: look at the runs, then resume this one',
        problem: { code: 'lock_lost' },
      });
    }
  };

  const isHeld = (scope: Scope, kind: Kind): boolean => {
    const file = lockFile(folder, scope, kind);
    if (!existsSync(file)) return false;
    // Takes it for a moment to find out; an import waits that long.
    const taken = exclusive(file, 0, 'look at the lock');
    taken?.close();
    return taken === null;
  };

  const holder = (scope: Scope, kind: Kind): string | null =>
    readNote(`${lockFile(folder, scope, kind)}.holder`) || null;

  return {
    check,
    isHeld: async (...of) => isHeld(...of),
    holder: async (...of) => holder(...of),
    take: async (scope, kind, words = '') => {
      const file = lockFile(folder, scope, kind);
      const taken = exclusive(file, WAIT_MS, 'take the lock');
      if (!taken) return null;
      try {
        note(`${file}.holder`, words);
      } catch (error) {
        taken.close();
        throw stateError(error, 'take the lock', file);
      }
      held.add(taken);
      files.set(file, identityOf(file));
      return {
        check,
        rename: async (words) => note(`${file}.holder`, words),
        release: async () => {
          files.delete(file);
          held.delete(taken);
          taken.close();
        },
      };
    },
    all: async () =>
      (await db.read(allScopes))
        .flatMap((scope) => KINDS.map((kind) => ({ scope, kind })))
        .filter(({ scope, kind }) => isHeld(scope, kind))
        .map(({ scope, kind }) => ({
          ...scope,
          kind,
          holder: holder(scope, kind),
          heartbeat_age: null,
          fresh: true,
        })),
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

/** Longer descriptions are cut. */
const HOLDER_BYTES = 4096;

/**
 * Overwrites the description in place, without truncating the file: some file systems would then wait for the
 * disk.
 */
function note(file: string, holder: string): void {
  privateFile(file);
  const fd = openSync(file, constants.O_WRONLY | NO_LINK);
  try {
    const page = Buffer.alloc(HOLDER_BYTES, ' ');
    page.write(holder);
    writeSync(fd, page, 0, HOLDER_BYTES, 0);
  } finally {
    closeSync(fd);
  }
}

function readNote(file: string): string | null {
  try {
    const fd = openSync(file, constants.O_RDONLY | NO_LINK);
    try {
      return readFileSync(fd, 'utf8').trimEnd();
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}

/** The path of the file of a lock. The file may not exist yet. */
function lockFile(folder: string, scope: Scope, kind: Kind): string {
  const name = createHash('sha256')
    .update(JSON.stringify([scope.account, scope.region, scope.base_url, kind]))
    .digest('hex')
    .slice(0, 24);
  return join(stateFolder(folder, 'locks'), `${name}.lock`);
}

/** Identifies a file independently of its name. */
type Identity = Pick<BigIntStats, 'dev' | 'ino'>;

/** Undefined if the file does not exist or cannot be reached. */
function identityOf(file: string): Identity | undefined {
  try {
    return statSync(file, { bigint: true });
  } catch {
    return undefined;
  }
}

function changeOf(file: string, before: Identity | undefined): 'removed' | 'replaced' | null {
  const now = identityOf(file);
  if (!now) return 'removed';
  return now.dev === before?.dev && now.ino === before.ino ? null : 'replaced';
}
