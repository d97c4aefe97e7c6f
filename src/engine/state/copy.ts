/**
 * Copies a state to another database in one pass. A copy that was interrupted begins again: its target is marked as
 * incomplete until it has everything, and nothing can be imported with it.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LockedError, ProfilesError, StateError, UsageError } from '../errors.js';
import { KINDS } from '../model.js';
import { refuseForeignLink } from '../util/written-file.js';
import { COPY_OF, MOVED_TO, metaOf, readSecret, refuseMoved, setMeta } from './access.js';
import type { Backend, HeldLease } from './backend.js';
import { type Database, insertInto, type Reader, type Row, type Transaction } from './database.js';
import { stateError } from './folder.js';
import { allScopes } from './scopes.js';

/** The tables, each after those that it refers to. The first one also tells that a copy is incomplete. */
export const COPIED = [
  'meta',
  'scopes',
  'runs',
  'requests',
  'jobs',
  'sends',
  'fingerprints',
  'plans',
  'history',
  'rejects',
] as const;

/** Rows in one transaction. Few, because a row of fingerprints may have a megabyte. */
const TOGETHER = 50;

/**
 * Replaces everything in a database with the content of another one.
 * @param to `name`: for errors
 * @param notes added to `meta` before anything else
 * @param progress called after each batch with the number of rows copied so far
 */
export async function copyTables(
  from: Reader,
  to: { db: Database; name: string },
  notes: Readonly<Record<string, string>> = {},
  progress: (rows: number) => void = () => {},
): Promise<void> {
  let copied = 0;
  for (const table of COPIED) {
    let batch: Row[] = [];
    const flush = async (): Promise<void> => {
      try {
        await to.db.write(async (tx) => {
          if (table === 'meta') await replaceMeta(tx, notes);
          if (batch.length > 0) await tx.run(insertInto(table, ...batch));
        });
      } catch (error) {
        throw stateError(error, 'record', to.name);
      }
      copied += batch.length;
      batch = [];
      progress(copied);
    };
    for await (const row of from.each<Row>(`SELECT * FROM ${table}`)) {
      batch.push(row);
      if (batch.length === TOGETHER) await flush();
    }
    if (batch.length > 0 || table === 'meta') await flush();
  }
}

async function replaceMeta(tx: Transaction, notes: Readonly<Record<string, string>>): Promise<void> {
  for (const table of [...COPIED].reverse()) await tx.run(`DELETE FROM ${table}`);
  for (const [name, value] of Object.entries(notes)) await setMeta(tx, name, value);
}

export interface Migration {
  from: Backend;
  to: Backend;
  /** Called after each batch with the number of rows copied so far, and of all rows. */
  progress?: (rows: number, total: number) => void;
  signal: AbortSignal;
}

/**
 * Moves a state (contract §10): copies it, and marks it as moved before anything can be written to it again.
 * @returns the number of rows in each table
 * @throws UsageError if the source has moved, or the target is not empty; LockedError while an import runs;
 * StateError; the signal's reason
 */
export async function migrateState({
  from,
  to,
  progress,
  signal,
}: Migration): Promise<Record<string, number>> {
  const { secret, moved, scopes } = await from.db.read(async (on) => ({
    secret: await readSecret(on),
    moved: await metaOf(on, MOVED_TO),
    scopes: await allScopes(on),
  }));
  if (!secret) {
    throw new UsageError('there is nothing to migrate: the state is empty', {
      hint: 'use the new one right away',
    });
  }
  const isOurs = await to.db.read(async (on) => {
    const isCopy = (await metaOf(on, COPY_OF)) !== null;
    if (isCopy && (await readSecret(on))?.equals(secret)) return true;
    if (moved === null) await refuseFilled(on, to.name, isCopy);
    return false;
  });
  // An earlier attempt was killed just before its last step.
  if (moved === to.name && isOurs) return finish(to);
  if (moved !== null) {
    throw new UsageError(`${from.name} has moved to ${moved} already`, {
      problem: { code: 'state_moved', to: moved },
    });
  }
  const locks: HeldLease[] = [];
  try {
    for (const scope of scopes) {
      for (const kind of KINDS) {
        const lock = await from.locks.take(scope, kind, `state migrate to ${to.name}`);
        if (!lock) {
          const other = (await from.locks.held(scope)).find((held) => held.kind === kind);
          throw lockedError(kind, other?.holder ?? null);
        }
        locks.push(lock);
      }
    }
    await from.db.write(async (source) => {
      await refuseMoved(source);
      // An import to another account may have begun in the meantime.
      if ((await allScopes(source)).length > scopes.length) throw lockedError('profiles', null);
      const total = sumOf(await countsOf(source));
      await copyTables(source, to, { [COPY_OF]: from.name }, (rows) => {
        progress?.(rows, total);
        signal.throwIfAborted();
      });
      from.locks.check();
      await setMeta(source, MOVED_TO, to.name);
    });
  } finally {
    for (const lock of locks) await lock.release();
  }
  return finish(to);
}

const lockedError = (what: string, holder: string | null): LockedError =>
  new LockedError(`an import of ${what} with this state is running: ${holder ?? 'it is still planning'}`, {
    hint: 'wait for it to end',
    problem: { code: 'import_running', run: null },
  });

/** @throws UsageError */
async function refuseFilled(on: Reader, name: string, isCopy: boolean): Promise<void> {
  if (isCopy) {
    throw new UsageError(`another state is being copied to ${name}`, {
      hint: 'finish that, or choose an empty place',
    });
  }
  const { meta: _, ...counts } = await countsOf(on);
  if (sumOf(counts) > 0) throw new UsageError(`${name} is not empty`, { hint: 'choose an empty place' });
}

/** Marks the target as complete: it is then a normal state. */
async function finish(to: Backend): Promise<Record<string, number>> {
  await to.copied();
  await to.db.write((tx) => setMeta(tx, COPY_OF, null));
  return to.db.read(countsOf);
}

async function countsOf(on: Reader): Promise<Record<string, number>> {
  const counts = COPIED.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`);
  return (await on.get<Record<string, number>>(`SELECT ${counts.join(', ')}`))!;
}

const sumOf = (counts: Record<string, number>): number => Object.values(counts).reduce((a, b) => a + b, 0);

/**
 * Copies a state to a file that did not exist: it appears there whole and on disk, or not at all.
 * @param file absolute
 * @param write writes the copy, as `state.db` in this folder
 * @returns its size in bytes
 * @throws UsageError if the file exists; StateError if it cannot be written
 */
export async function backupTo(
  file: string,
  write: (folder: string) => Promise<{ written: string }>,
): Promise<number> {
  const folder = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  const refuseTaken = (): void => {
    if (!existsSync(file)) return;
    throw new UsageError(`${file} exists already, and a backup never overwrites a file`, {
      hint: 'name another file, or remove that one first',
    });
  };
  try {
    refuseForeignLink(dirname(file));
    refuseTaken();
    mkdirSync(folder, { mode: 0o700 });
    const { written } = await write(folder);
    const handle = openSync(written, 'r+');
    fsyncSync(handle);
    closeSync(handle);
    refuseTaken();
    renameSync(written, file);
    return statSync(file).size;
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such directory' : message;
    throw new StateError(`cannot write the backup ${file}: ${why}`, {
      hint: 'name a file in a directory that you can write to, with room for it',
      cause: error,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
