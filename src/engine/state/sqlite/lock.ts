import { createHash } from 'node:crypto';
import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { KINDS, type Kind } from '../../model.js';
import { NO_LINK } from '../../owner.js';
import { privateFile } from '../../private-folder.js';
import { stateError, stateFolder } from '../folder.js';
import type { HeldLease, HeldLock, Scope } from '../types.js';
import type { FilesInUse } from './in-use.js';

/** The error code of SQLite if another connection has locked the file. */
const SQLITE_BUSY = 5;

/**
 * How long `takeLock` waits. `isLocked` holds the lock for less time than this; an import holds it longer.
 */
const WAIT_MS = 100;

/** The connections that hold locks. Without these references, garbage collection would close them. */
const held = new Set<DatabaseSyncInstance>();

/** The locks of one state directory. */
export class Locks {
  constructor(
    private readonly folder: string,
    private readonly inUse: FilesInUse,
  ) {}

  /** Takes a lock (`takeLock`). While it is held, `FilesInUse.check` checks that its file still exists. */
  take(scope: Scope, kind: Kind, holder: string): HeldLease | null {
    const release = takeLock(this.folder, scope, kind, holder);
    if (!release) return null;
    const file = lockFile(this.folder, scope, kind);
    const forget = this.inUse.hold(file);
    return {
      check: () => this.inUse.check(),
      rename: async (words) => note(`${file}.holder`, words),
      release: async () => {
        forget();
        release();
      },
    };
  }

  /** The description of the process that has the lock; null if it is not known. */
  holder(scope: Scope, kind: Kind): string | null {
    return lockHolder(this.folder, scope, kind) || null;
  }

  /** Whether a process holds the lock now. */
  isHeld(scope: Scope, kind: Kind): boolean {
    return isLocked(this.folder, scope, kind);
  }

  /** Locks that processes hold now. */
  of(scopes: readonly Scope[]): HeldLock[] {
    return scopes
      .flatMap((scope) => KINDS.map((kind) => ({ scope, kind })))
      .filter(({ scope, kind }) => this.isHeld(scope, kind))
      .map(({ scope, kind }) => ({
        ...scope,
        kind,
        holder: this.holder(scope, kind),
        heartbeat_age: null,
        fresh: true,
      }));
  }
}

/**
 * Takes the lock on imports of this account and kind, or returns null if another process has it. It is an exclusive
 * transaction on a small SQLite file, so the operating system releases it when the process dies (contract §4).
 * @param holder the description that `lockHolder` returns to others
 * @returns a function that releases it
 */
export function takeLock(folder: string, scope: Scope, kind: Kind, holder = ''): (() => void) | null {
  const file = lockFile(folder, scope, kind);
  let db: DatabaseSyncInstance | undefined;
  try {
    privateFile(file);
    db = new DatabaseSync(file, { timeout: WAIT_MS });
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    const taken = db;
    held.add(taken);
    note(`${file}.holder`, holder);
    return () => {
      held.delete(taken);
      taken.close();
    };
  } catch (error) {
    db?.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw stateError(error, 'take the lock', file);
  }
}

/**
 * Whether a process holds the lock now. Takes it for a moment to find out; an import waits that long
 * (`WAIT_MS`).
 */
function isLocked(folder: string, scope: Scope, kind: Kind): boolean {
  const file = lockFile(folder, scope, kind);
  if (!existsSync(file)) return false;
  let db: DatabaseSyncInstance | undefined;
  try {
    privateFile(file);
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return false;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return true;
    throw stateError(error, 'look at the lock', file);
  } finally {
    db?.close();
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

function lockHolder(folder: string, scope: Scope, kind: Kind): string | null {
  try {
    const fd = openSync(`${lockFile(folder, scope, kind)}.holder`, constants.O_RDONLY | NO_LINK);
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
