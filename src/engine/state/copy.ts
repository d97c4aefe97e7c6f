/**
 * Copies a state to another database in one pass. A copy that was interrupted begins again: its target is marked as
 * incomplete until it has everything, and nothing can be imported with it.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LockedError, ProfilesError, StateError, UsageError } from '../errors.js';
import { KINDS } from '../model.js';
import { refuseForeignLink, syncFolder } from '../util/written-file.js';
import { allScopes, COPY_OF, MOVED_TO, metaOf, readSecret, refuseMoved, setMeta } from './access.js';
import type { Backend, HeldLease } from './backend.js';
import { type Database, insertInto, type Reader, type Row, type Transaction } from './database.js';
import { databaseFile, stateError } from './folder.js';
import { openDatabase } from './sqlite/database.js';

/** The tables, each after those that it refers to. The first one also tells that a copy is incomplete. */
export const COPIED = 'meta scopes runs requests jobs sends fingerprints plans history rejects'.split(' ');

/** Rows in one transaction. Few, because a row of fingerprints may have a megabyte. */
const TOGETHER = 50;

/**
 * Replaces everything in a database with the content of another one.
 * @param to `name`: for errors
 * @param mark what the target is a copy of, until the caller has finished it; null if nobody can see it before
 * @param progress called after each batch with the number of rows copied so far
 */
async function copyTables(
  from: Reader,
  to: { db: Database; name: string },
  mark: string | null,
  progress: (rows: number) => void = () => {},
): Promise<void> {
  let copied = 0;
  const write = async (work: (tx: Transaction) => Promise<unknown>, rows: number): Promise<void> => {
    await to.db.write(work).catch((error: unknown) => {
      throw stateError(error, 'record', to.name);
    });
    copied += rows;
    progress(copied);
  };
  const facts = await from.all<Row>('SELECT * FROM meta');
  await write(async (tx) => {
    for (const table of [...COPIED].reverse()) await tx.run(`DELETE FROM ${table}`);
    await tx.run(insertInto('meta', ...facts));
    if (mark !== null) await setMeta(tx, COPY_OF, mark);
  }, facts.length);
  for (const table of COPIED.slice(1)) {
    const batch: Row[] = [];
    const flush = async (): Promise<void> => {
      const rows = batch.splice(0);
      if (rows.length > 0) await write((tx) => tx.run(insertInto(table, ...rows)), rows.length);
    };
    for await (const row of from.each<Row>(`SELECT * FROM ${table}`))
      if (batch.push(row) === TOGETHER) await flush();
    await flush();
  }
}

/**
 * Moves a state (contract §10): copies it, and marks it as moved before anything can be written to it again.
 * @param progress called after each batch with the number of rows copied so far, and of all rows
 * @returns the number of rows in each table
 * @throws UsageError if the source has moved, or the target is not empty; LockedError while an import runs;
 * StateError; the signal's reason
 */
export async function migrateState(
  from: Backend,
  to: Backend,
  signal: AbortSignal,
  progress: (rows: number, total: number) => void = () => {},
): Promise<Record<string, number>> {
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
  const isCopy = await to.db.read(
    async (on) => (await readSecret(on))?.equals(secret) && (await metaOf(on, COPY_OF)) !== null,
  );
  // An earlier attempt was killed just before its last step.
  if (moved === to.name && isCopy) return finish(to);
  if (moved !== null) {
    throw new UsageError(`${from.name} has moved to ${moved} already`, {
      problem: { code: 'state_moved', to: moved },
    });
  }
  if (!isCopy) await to.db.read((on) => refuseFilled(on, to.name));
  const locks: HeldLease[] = [];
  try {
    for (const scope of scopes) {
      for (const kind of KINDS) {
        const lock = await from.locks.take(scope, kind, `state migrate to ${to.name}`);
        const other = lock ? [] : (await from.locks.held(scope)).filter((held) => held.kind === kind);
        if (!lock) throw lockedError(kind, other[0]?.holder ?? null);
        locks.push(lock);
      }
    }
    await from.db.write(async (source) => {
      await refuseMoved(source);
      // An import to another account may have begun in the meantime.
      if ((await allScopes(source)).length > scopes.length) throw lockedError('profiles', null);
      const total = sumOf(await countsOf(source));
      await copyTables(source, to, from.name, (rows) => {
        progress(rows, total);
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
async function refuseFilled(on: Reader, name: string): Promise<void> {
  if ((await metaOf(on, COPY_OF)) !== null) {
    throw new UsageError(`another state is being copied to ${name}`, {
      hint: 'finish that, or choose an empty place',
    });
  }
  const { meta: _, ...counts } = await countsOf(on);
  if (sumOf(counts) > 0) throw new UsageError(`${name} is not empty`, { hint: 'choose an empty place' });
}

/** Marks the target as complete: it is then a normal state. */
async function finish(to: Backend): Promise<Record<string, number>> {
  await to.db.write((tx) => setMeta(tx, COPY_OF, null));
  return to.db.read(countsOf);
}

async function countsOf(on: Reader): Promise<Record<string, number>> {
  const counts = COPIED.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`);
  return (await on.get<Record<string, number>>(`SELECT ${counts.join(', ')}`))!;
}

const sumOf = (counts: Record<string, number>): number => Object.values(counts).reduce((a, b) => a + b, 0);

/**
 * Copies a state to a file of mode 0600 that did not exist: it appears there whole and on disk, or not at all. Others may
 * write to the state in the meantime.
 * @param file absolute
 * @returns its size in bytes
 * @throws UsageError if the file exists; StateError if it cannot be written
 */
export async function backupTo(file: string, from: Database): Promise<number> {
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
    const to = openDatabase(folder);
    try {
      await from.read((on) => copyTables(on, { db: to, name: file }, null));
    } finally {
      await to.close();
    }
    const written = databaseFile(folder);
    const handle = openSync(written, 'r+');
    fsyncSync(handle);
    closeSync(handle);
    refuseTaken();
    renameSync(written, file);
    syncFolder(dirname(file));
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
