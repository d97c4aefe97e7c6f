/**
 * Moves a state to another database (contract §10). Copies table by table, in batches, so that it can
 * continue after a kill. Then it compares both states, and marks the old one as moved.
 */
import { createHash } from 'node:crypto';
import { StateError, UsageError } from '../errors.js';
import { AllLocks } from './all-locks.js';
import type { Backend } from './backend.js';
import type { Database, Reader, Transaction, Value } from './database.js';
import { COPYING, MOVED_TO, Notes } from './notes.js';

/** The tables to copy and their keys. Each comes after the tables that it refers to. */
export const COPIED = [
  ['secret', ['key']],
  ['scopes', ['scope']],
  ['counters', ['name']],
  ['runs', ['run']],
  ['inputs', ['run', 'input']],
  ['requests', ['request']],
  ['jobs', ['scope', 'job_id']],
  ['sends', ['send']],
  ['fingerprints', ['send']],
  ['cells', ['send']],
  ['column_types', ['scope', 'kind']],
  ['rejects', ['run', 'input']],
  ['history', ['entry']],
  ['plans', ['run']],
  ['verified', ['run', 'kind', 'part']],
] as const;

type Table = (typeof COPIED)[number];
type Row = Record<string, Value>;

/** Tables that have rows even in a new state. These rows are replaced with those of the source. */
const OF_NEW_STATES = ['secret', 'counters'];
/** Rows in one statement. */
const TOGETHER = 20;
/** Rows in one transaction. */
const BATCH_ROWS = 500;
/** The most bytes in one transaction, approximately. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** How often to copy again if the source has changed in the meantime: other commands may poll jobs. */
const ATTEMPTS = 3;

export interface Migration {
  from: Backend;
  to: Backend;
  /** Called after each batch with the number of rows copied so far, and of all rows. */
  progress?: (rows: number, total: number) => void;
  signal: AbortSignal;
}

const notes = new Notes();
const doneNote = (table: string): string => `copied ${table}`;

/**
 * Moves a state, or continues an interrupted move.
 * @returns the number of rows in each table
 * @throws UsageError if the source has moved, or the target is not empty; LockedError while an import runs;
 * StateError; the signal's reason
 */
export async function migrateState(migration: Migration): Promise<Record<string, number>> {
  const { from, to, signal } = migration;
  const id = await identityOf(from.db);
  const moved = await notes.get(from.db, MOVED_TO);
  const copying = await notes.get(to.db, COPYING);
  // An earlier attempt was killed just before its last step.
  if (moved === to.name && copying === id) return finish(migration);
  if (moved !== null) {
    throw new UsageError(`${from.name} has moved to ${moved} already`, {
      problem: { code: 'state_moved', to: moved },
    });
  }
  if (copying !== id) await refuseFilled(to, copying !== null);
  const locks = new AllLocks(from, `state migrate to ${to.name}`);
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      signal.throwIfAborted();
      await locks.takeAll();
      if (attempt > 1 || copying !== id) await begin(to.db, id);
      try {
        await copy(migration);
      } catch (error) {
        // A copied row refers to one that was not copied, because the source has changed in the meantime.
        if (!isConstraint(error) || attempt === ATTEMPTS) throw error;
        continue;
      }
      await to.copied();
      if (await concludes(migration, locks)) return await finish(migration);
    }
  } finally {
    await locks.release();
  }
  throw new StateError(`${from.name} changed again and again while it was copied`, {
    hint: 'stop what writes to it, and run the same command again',
  });
}

/** Whether a database refused a row because of a constraint. */
const isConstraint = (error: unknown): boolean => /constraint/i.test(String(error));

/** Identifies a state by a digest of the key of its hashes. */
async function identityOf(db: Reader): Promise<string> {
  const row = await db.get<{ key: Uint8Array }>('SELECT key FROM secret');
  if (row) return createHash('sha256').update('migrate:').update(row.key).digest('hex');
  throw new UsageError('there is nothing to migrate: the state is empty', {
    hint: 'use the new one right away',
  });
}

/** @throws UsageError */
async function refuseFilled({ db, name }: Backend, isOfAnother: boolean): Promise<void> {
  if (isOfAnother) {
    throw new UsageError(`another state is being copied to ${name}`, {
      hint: 'finish that, or choose an empty place',
    });
  }
  for (const [table] of COPIED) {
    if (OF_NEW_STATES.includes(table)) continue;
    if ((await db.get(`SELECT 1 AS one FROM ${table} LIMIT 1`)) === undefined) continue;
    throw new UsageError(`${name} is not empty`, { hint: 'choose an empty place' });
  }
}

/** Deletes all rows of the target: those of a new state, or of an outdated copy. */
async function begin(db: Database, id: string): Promise<void> {
  await db.write(async (tx) => {
    await notes.set(tx, COPYING, id);
    for (const [table] of [...COPIED].reverse()) {
      await tx.run(`DELETE FROM ${table}`);
      await notes.delete(tx, doneNote(table));
    }
  });
}

async function copy({ from, to, progress, signal }: Migration): Promise<void> {
  let total = 0;
  for (const [table] of COPIED) total += await countOf(from.db, table);
  let copied = 0;
  for (const table of COPIED) {
    const [name] = table;
    const done = await notes.get(to.db, doneNote(name));
    const after = done === null ? null : copiedUntil(done, table, to.name);
    copied += await countOf(to.db, name);
    if (after === 'all') continue;
    let batch: Row[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      const rows = batch;
      batch = [];
      bytes = 0;
      if (rows.length > 0) await to.db.write((tx) => insert(tx, table, rows));
      copied += rows.length;
      progress?.(copied, total);
      signal.throwIfAborted();
    };
    for await (const row of rowsOf(from.db, table, after)) {
      batch.push(row);
      bytes += sizeOf(row);
      if (batch.length >= BATCH_ROWS || bytes >= BATCH_BYTES) await flush();
    }
    await flush();
  }
}

/** Reads the note of how much of a table was copied. @throws StateError if it is damaged */
function copiedUntil(note: string, [table, keys]: Table, name: string): Value[] | 'all' {
  try {
    const until: unknown = JSON.parse(note);
    if (until === 'all' || (Array.isArray(until) && until.length === keys.length)) return until;
  } catch {} // as below
  throw new StateError(`${name} is damaged: its note "${doneNote(table)}" cannot be read`, {
    hint: 'copy to an empty place',
  });
}

/**
 * Reads rows in the order of their keys.
 * @param after key of the last row to skip; null: from the first row
 */
async function* rowsOf(
  on: Reader,
  [table, keys]: Table,
  after: readonly Value[] | null,
): AsyncGenerator<Row> {
  const names = keys.join(', ');
  const marks = keys.map(() => '?').join(', ');
  const where = after === null ? '' : ` WHERE (${names}) > (${marks})`;
  yield* on.each<Row>(`SELECT * FROM ${table}${where} ORDER BY ${names}`, ...(after ?? []));
}

async function insert(tx: Transaction, [table, keys]: Table, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0]!);
  const marks = `(${columns.map(() => '?').join(', ')})`;
  for (let at = 0; at < rows.length; ) {
    const some = rows.length - at >= TOGETHER ? rows.slice(at, at + TOGETHER) : rows.slice(at, at + 1);
    const values = some.flatMap((row) => columns.map((column) => row[column]!));
    const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${some.map(() => marks).join(', ')}`;
    await tx.run(sql, ...values);
    at += some.length;
  }
  const last = keys.map((key) => rows.at(-1)![key]!);
  // The only table with bytes as its key (`secret`) has one row.
  const done = last.some((value) => value instanceof Uint8Array) ? 'all' : last;
  await notes.set(tx, doneNote(table), JSON.stringify(done));
}

/**
 * Compares both states. If they are equal, marks the source as moved in the same transaction, so that nothing
 * can be written to it in between. The target can be read before the transaction, because nothing else writes
 * to it.
 * @returns whether they are equal
 */
async function concludes({ from, to }: Migration, locks: AllLocks): Promise<boolean> {
  const copy = await digestsOf(to.db);
  return from.db.write(async (tx) => {
    if (!(await locks.areAllHeld(tx))) return false;
    const original = await digestsOf(tx);
    if (JSON.stringify(original) !== JSON.stringify(copy)) return false;
    await notes.set(tx, MOVED_TO, to.name);
    return true;
  });
}

/** Removes the notes of the copy from the target, which is then a normal state. */
async function finish({ to }: Migration): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [table] of COPIED) counts[table] = await countOf(to.db, table);
  await to.db.write(async (tx) => {
    for (const [table] of COPIED) await notes.delete(tx, doneNote(table));
    await notes.delete(tx, COPYING);
  });
  return counts;
}

/** For each table: the number of rows, and a digest of their content. */
async function digestsOf(on: Reader): Promise<[string, number, string][]> {
  const digests: [string, number, string][] = [];
  for (const table of COPIED) {
    const hash = createHash('sha256');
    let rows = 0;
    for await (const row of rowsOf(on, table, null)) {
      rows++;
      for (const [column, value] of Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))) {
        if (value instanceof Uint8Array) hash.update(`${column} ${value.length}\n`).update(value);
        else hash.update(`${column} ${JSON.stringify(value)}\n`);
      }
    }
    digests.push([table[0], rows, hash.digest('hex')]);
  }
  return digests;
}

async function countOf(on: Reader, table: string): Promise<number> {
  return (await on.get<{ rows: number }>(`SELECT count(*) AS rows FROM ${table}`))!.rows;
}

const sizeOf = (row: Row): number =>
  Object.values(row).reduce<number>(
    (sum, value) => sum + (value instanceof Uint8Array || typeof value === 'string' ? value.length : 8),
    0,
  );
