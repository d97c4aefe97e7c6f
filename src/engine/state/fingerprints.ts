/**
 * Fingerprints (contract §3 "Only what changed"): for each id, a keyed hash of the content that the service
 * completed last. The rows of one send are stored together, 24 bytes a row, and later sends override earlier
 * ones: a send clears the fingerprints of its ids, and sets them when it completes (`sends.ts`).
 *
 * So a request of 5,000 rows costs one insert, not 10,000 changes to an index. Compaction keeps the last row
 * of each id even if it did not complete: it tells when and by which run the id was last sent. It also keeps
 * earlier rows of the same run, unless another run has sent the id in between.
 */
import { type FingerprintColumns, FingerprintIndex } from '../fingerprint-index.js';
import { bytesOf, hashesOf, wordsOf } from '../fingerprint-tables.js';
import { IdTable } from '../id-table.js';
import type { Kind } from '../model.js';
import { type CellColumns, StoredCells } from '../stored-cells.js';
import type { Database, Reader, Transaction } from './database.js';
import { SEND } from './sends.js';
import { STORED as JSON_COLUMNS, storedJson } from './stored-json.js';
import type { StateAge } from './types.js';

interface StoredPrints {
  ids: Uint8Array;
  contents: Uint8Array;
  records: Uint8Array | null;
}

/** With fewer rows, compaction is not worth its time. */
const FEW_ROWS = 1_000;
/**
 * How many ids are compared in one pass, at 16 bytes each. With more ids, the rows are read in several
 * passes.
 */
const IDS_AT_ONCE = 3_000_000;
/** How many sends are read or rewritten at a time, so that other processes do not wait long. */
const SENDS_AT_ONCE = 32;

/** SQL: number of rows of all sends of a scope and kind. */
const STORED = `SELECT coalesce(sum(length(ids)), 0) / 8 AS stored
  FROM sends JOIN fingerprints USING (send) WHERE scope = ?1 AND kind = ?2`;

/** A send, as `#newestFirst` passes it. */
interface SentBefore {
  send: number;
  state: number;
  completed_at: string | null;
  is_open: number;
  contents: BigUint64Array;
}

/** In place of a run: more than one run has sent the id, so all rows that are still older are outdated. */
const OTHERS = 0xffff_ffff;

/** Who sent the id of a row again later. */
type Later = 'nobody' | 'same run' | 'others';

/** The table `fingerprints`: the rows of each send. */
export class Fingerprints {
  /** How many ids the last `load` found. The number of ids never decreases. */
  #loaded: { scope: number; kind: Kind; ids: number } | null = null;

  constructor(private readonly idsAtOnce = IDS_AT_ONCE) {}

  async append(
    tx: Transaction,
    send: number,
    { ids, contents, records, cells }: FingerprintColumns,
  ): Promise<void> {
    await tx.run(
      'INSERT INTO fingerprints (send, ids, contents, records, keys, cells) VALUES (?, ?, ?, ?, ?, ?)',
      send,
      bytesOf(ids),
      bytesOf(contents),
      someBytes(records),
      cells ? JSON.stringify(cells.keys) : null,
      cells?.bytes ?? null,
    );
  }

  /** Short hashes of the cells of a send, to count changes by key; null if they were not recorded. */
  async cellsOf(on: Reader, send: number): Promise<CellColumns | null> {
    const row = await on.get<{ keys: string; cells: Uint8Array }>(
      'SELECT keys, cells FROM fingerprints WHERE send = ? AND keys IS NOT NULL',
      send,
    );
    return row
      ? { keys: storedJson<string[]>(row.keys, JSON_COLUMNS.cellKeys, send), bytes: row.cells }
      : null;
  }

  /** Clears the contents of a send, so that its rows count as unknown even after it completes. */
  async forget(tx: Transaction, send: number): Promise<void> {
    const { contents } = await this.of(tx, send);
    const none = bytesOf(contents.fill(0n));
    await tx.run('UPDATE fingerprints SET contents = ?, records = NULL WHERE send = ?', none, send);
  }

  /** The rows of one send, in the order of the request; none if compaction has deleted them. */
  async of(on: Reader, send: number): Promise<FingerprintColumns> {
    const row = await on.get<StoredPrints>(
      'SELECT ids, contents, records FROM fingerprints WHERE send = ?',
      send,
    );
    return printsOf(row ?? { ids: new Uint8Array(), contents: new Uint8Array(), records: null });
  }

  /** The rows of several sends, in the order of `sends`. */
  async *ofEach(on: Reader, sends: readonly number[]): AsyncGenerator<FingerprintColumns> {
    const nothing = new Uint8Array();
    for (const some of slicesOf(sends)) {
      const rows = await on.all<StoredPrints & { send: number }>(
        `SELECT send, ids, contents, records FROM fingerprints WHERE send IN (${marksFor(some)})`,
        ...some,
      );
      const found = new Map(rows.map((row) => [row.send, row]));
      for (const send of some)
        yield printsOf(found.get(send) ?? { ids: nothing, contents: nothing, records: null });
    }
  }

  /** Total number of rows of these sends. */
  async countOf(on: Reader, sends: readonly number[]): Promise<number> {
    let count = 0;
    for (const some of slicesOf(sends)) {
      const row = await on.get<{ count: number }>(
        `SELECT coalesce(sum(length(ids)), 0) / 8 AS count FROM fingerprints WHERE send IN (${marksFor(some)})`,
        ...some,
      );
      count += row!.count;
    }
    return count;
  }

  /**
   * Reads all fingerprints.
   * @param since ISO 8601: rows completed earlier, or at an unknown time, are not known
   */
  async load(
    on: Reader,
    scope: number,
    kind: Kind,
    since: string | null,
    now: string,
  ): Promise<FingerprintIndex> {
    let index: FingerprintIndex | null = null;
    // The number of rows is part of the query, because other processes may add rows between two queries.
    const sends = on.each<
      StoredPrints & { send: number; run: string | null; state: number; at: string | null; stored: number }
    >(
      `SELECT send, run, state, completed_at AS at, ids, contents, records, (${STORED}) AS stored
       FROM sends JOIN fingerprints USING (send) WHERE scope = ?1 AND kind = ?2 ORDER BY send`,
      scope,
      kind,
    );
    for await (const send of sends) {
      index ??= new FingerprintIndex(send.stored);
      const isOld = since !== null && (send.at === null || send.at < since || send.at > now);
      const from = { send: send.send, run: send.run, old: isOld };
      index.apply(printsOf(send), send.state === SEND.completed, from);
    }
    index ??= new FingerprintIndex(0);
    this.#loaded = { scope, kind, ids: index.size };
    return index;
  }

  /** How many ids have a fingerprint, and when the oldest and the newest of them were completed. */
  async extent(on: Reader, scope: number, kind: Kind): Promise<StateAge & { profiles: number }> {
    let profiles = 0;
    const times = new Set<string | null>();
    await this.#newestFirst(on, scope, kind, (later, { state, completed_at, contents }, at) => {
      if (later !== 'nobody' || state !== SEND.completed || contents[at] === 0n) return;
      profiles++;
      times.add(completed_at);
    });
    times.delete(null);
    const ascending = [...(times as Set<string>)].sort();
    return {
      profiles,
      oldest_completed_at: ascending[0] ?? null,
      newest_completed_at: ascending.at(-1) ?? null,
    };
  }

  /**
   * Deletes outdated rows, if they are more than a third of all rows. Open sends are not changed. Finding the
   * rows needs no transaction, since outdated rows stay outdated. So other processes wait only while sends
   * are rewritten.
   * @param ids a lower bound for the number of ids, which may save reading all rows
   * @returns whether it deleted any
   */
  async compact(
    db: Reader,
    write: Database['write'],
    scope: number,
    kind: Kind,
    ids: number,
  ): Promise<boolean> {
    const stored = await this.#stored(db, scope, kind);
    const loaded = this.#loaded?.scope === scope && this.#loaded.kind === kind ? this.#loaded.ids : 0;
    // Often, these numbers show that compaction is not worth reading all rows.
    if (stored < FEW_ROWS || stored <= 1.5 * Math.max(loaded, ids)) return false;
    let dropped = 0;
    /** For each send with outdated rows: a byte for each row, 1 if it stays. */
    const stays = new Map<number, Uint8Array>();
    await this.#newestFirst(db, scope, kind, (later, { send, is_open, contents }, at) => {
      if (later !== 'others' || is_open === 1) return;
      const rows = stays.get(send) ?? new Uint8Array(contents.length).fill(1);
      rows[at] = 0;
      stays.set(send, rows);
      dropped++;
    });
    if (3 * dropped <= stored) return false;
    // Oldest first: after a crash in between, no outdated row may remain while the row that made it outdated
    // is gone.
    for (const some of slicesOf([...stays.keys()].sort((a, b) => a - b))) {
      await write(async (tx) => {
        for (const send of some) await this.#keep(tx, send, stays.get(send)!);
      });
    }
    return true;
  }

  async #keep(tx: Transaction, send: number, stays: Uint8Array): Promise<void> {
    const { ids, contents, records } = await this.of(tx, send);
    // Another process has deleted or rewritten it in the meantime.
    if (ids.length !== stays.length) return;
    const last = [...stays.keys()].filter((at) => stays[at] === 1);
    if (last.length === 0) {
      await tx.run('DELETE FROM sends WHERE send = ?', send);
      return;
    }
    const of = (values: BigUint64Array): BigUint64Array => BigUint64Array.from(last, (at) => values[at]!);
    const cells = await this.cellsOf(tx, send);
    await tx.run(
      'UPDATE fingerprints SET ids = ?, contents = ?, records = ?, cells = ? WHERE send = ?',
      bytesOf(of(ids)),
      bytesOf(of(contents)),
      someBytes(of(records)),
      cells && new StoredCells(cells).select(last).bytes,
      send,
    );
  }

  /** Calls `look` once for each row. The rows of one id come in order, the last one first. */
  async #newestFirst(
    on: Reader,
    scope: number,
    kind: Kind,
    look: (later: Later, send: SentBefore, at: number) => void,
  ): Promise<void> {
    const stored = await this.#stored(on, scope, kind);
    const parts = Math.ceil(stored / this.idsAtOnce);
    for (let part = 0; part < parts; part++) {
      /**
       * The number of the run that sent each id last, or `OTHERS`. Runs and single profiles get numbers from
       * 1.
       */
      const newest = new IdTable(Math.ceil(stored / parts));
      const runs = new Map<string | number, number>();
      const sends = on.each<
        Omit<SentBefore, 'contents'> & { run: string | null; ids: Uint8Array; contents: Uint8Array }
      >(
        `SELECT send, run, state, completed_at, ids, contents,
           CASE WHEN state = ${SEND.pending} OR job_id IS NOT NULL OR doubt IS NOT NULL THEN 1 ELSE 0 END AS is_open
         FROM sends JOIN fingerprints USING (send) WHERE scope = ? AND kind = ? ORDER BY send DESC`,
        scope,
        kind,
      );
      for await (const row of sends) {
        const own = runs.get(row.run ?? row.send) ?? runs.size + 1;
        runs.set(row.run ?? row.send, own);
        const ids = hashesOf(row.ids);
        const words = wordsOf(ids);
        const send = { ...row, contents: hashesOf(row.contents) };
        for (let at = send.contents.length - 1; at >= 0; at--) {
          const [low, high] = [words[2 * at]!, words[2 * at + 1]!];
          if (high % parts !== part) continue;
          const by = newest.putFirst(low, high, own);
          // Rows that a run sent before another run sent the id are outdated, even if the run sent the id
          // again later.
          if (by !== 0 && by !== own && by !== OTHERS) newest.set(ids[at]!, OTHERS);
          look(by === 0 ? 'nobody' : by === own ? 'same run' : 'others', send, at);
        }
      }
    }
  }

  /** The number of rows of all sends. There are at most as many ids. */
  async #stored(on: Reader, scope: number, kind: Kind): Promise<number> {
    const row = await on.get<{ stored: number }>(STORED, scope, kind);
    return row!.stored;
  }
}

function printsOf({ ids, contents, records }: StoredPrints): FingerprintColumns {
  return {
    ids: hashesOf(ids),
    contents: hashesOf(contents),
    records: hashesOf(records ?? new Uint8Array(ids.length)),
  };
}

/** Null if all are zero. */
const someBytes = (values: BigUint64Array): Uint8Array | null =>
  values.some((value) => value !== 0n) ? bytesOf(values) : null;

const marksFor = (values: readonly unknown[]): string => values.map(() => '?').join(', ');

function* slicesOf(sends: readonly number[]): Generator<readonly number[]> {
  for (let from = 0; from < sends.length; from += SENDS_AT_ONCE) {
    yield sends.slice(from, from + SENDS_AT_ONCE);
  }
}
