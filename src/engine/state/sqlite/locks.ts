/**
 * The locks of a state directory: an exclusive transaction on a small SQLite file for each, so the operating system
 * releases it when its process dies (contract §4).
 */
import { hash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { StateError, StateLostError } from '../../errors.js';
import type { Kind } from '../../model.js';
import { NO_LINK } from '../../util/owner.js';
import { privateFile } from '../../util/private-folder.js';
import type { Locks } from '../backend.js';
import { stateError, stateFolder } from '../folder.js';
import { type Scope, sameScope } from '../scopes.js';

/** The error code of SQLite if another connection has locked the file. */
const SQLITE_BUSY = 5;

/** How long `take` waits. `held` has the lock for less time than this; an import has it longer. */
const WAIT_MS = 100;

/** The connections that hold locks. Without these references, garbage collection would close them. */
const held = new Set<DatabaseSyncInstance>();

/** @param database path of the database, which was just opened */
export function locksIn(folder: string, database: string): Locks {
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

  return {
    check,
    take: async (scope, kind, words = '') => {
      const file = lockFile(folder, scope, kind);
      const described = (holder: string): void => note(file, { ...scope, kind, holder });
      const taken = exclusive(file, WAIT_MS, 'take the lock');
      if (!taken) return null;
      try {
        described(words);
      } catch (error) {
        taken.close();
        throw stateError(error, 'take the lock', file);
      }
      held.add(taken);
      files.set(file, identityOf(file));
      return {
        check,
        rename: async (words) => described(words),
        release: async () => {
          files.delete(file);
          held.delete(taken);
          taken.close();
        },
      };
    },
    held: async (scope) => {
      const place = stateFolder(folder, 'locks');
      const files = readdirSync(place).filter((name) => name.endsWith('.lock'));
      return files
        .map((name) => readNote(join(place, name)))
        .filter((noted) => noted !== null)
        .filter((noted) => (scope === undefined || sameScope(noted, scope)) && isTaken(folder, noted))
        .map(({ holder, ...of }) => ({ ...of, holder: holder || null, heartbeat_age: null, fresh: true }));
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
function isTaken(folder: string, { kind, ...scope }: Noted): boolean {
  const taken = exclusive(lockFile(folder, scope, kind), 0, 'look at the lock');
  taken?.close();
  return taken === null;
}

/** What a process writes beside its lock. */
type Noted = Scope & { kind: Kind; holder: string };

const NOTE_BYTES = 8192;
/** Longer descriptions are cut. */
const HOLDER_CHARACTERS = 1_000;

/** Uses the note beside a lock, which must not be a link. */
function withNote<T>(lock: string, mode: number, use: (fd: number) => T): T {
  const fd = openSync(`${lock}.holder`, mode | NO_LINK);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Overwrites the note in place, without truncating the file: some file systems would then wait for the
 * disk.
 */
function note(lock: string, { holder, ...of }: Noted): void {
  privateFile(`${lock}.holder`);
  const text = JSON.stringify({ ...of, holder: holder.slice(0, HOLDER_CHARACTERS) });
  withNote(lock, constants.O_WRONLY, (fd) => writeSync(fd, Buffer.from(text.padEnd(NOTE_BYTES))));
}

/** Null if there is none that can be read. */
function readNote(lock: string): Noted | null {
  try {
    return withNote(lock, constants.O_RDONLY, (fd) => JSON.parse(readFileSync(fd, 'utf8')) as Noted);
  } catch {
    return null;
  }
}

/** The path of the file of a lock. The file may not exist yet. */
function lockFile(folder: string, scope: Scope, kind: Kind): string {
  const { account, region, base_url } = scope;
  const name = hash('sha256', JSON.stringify([account, region, base_url, kind]), 'hex').slice(0, 24);
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
