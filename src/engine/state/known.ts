/**
 * What is known of the profiles of a kind (contract §3 "Only what changed"): for each id, a keyed hash of the content
 * that the service completed last. Later sends override earlier ones: a send clears the fingerprints of its ids, and sets
 * them when it completes (`send-table.ts`).
 *
 * Compaction keeps the last row of each id even if it did not complete: it tells when and by which run the id was last
 * sent. It also keeps earlier rows of the same run, unless another run has sent the id in between.
 */
import type { CellColumns } from '../fingerprints/cells.js';
import { FingerprintIndex } from '../fingerprints/index.js';
import { hashesOf, IdRows, wordsOf } from '../fingerprints/tables.js';
import type { Kind } from '../model.js';
import { type Access, addScope, idOf, type Scope } from './access.js';
import { type Reader, raw, type Sql, STORED, sql, storedOrNull } from './database.js';
import type { RequestRest } from './jobs.js';
import { cellsOf, keepRows, printsOf, type StoredPrints, slicesOf } from './rows.js';
import { doubtAt, isOfKind, newestSend, SEND } from './send-table.js';

/** With fewer rows, compaction is not worth its time. */
const FEW_ROWS = 1_000;
/**
 * How many ids are compared in one pass, at 18 bytes each. With more ids, the rows are read in several
 * passes.
 */
const IDS_AT_ONCE = 3_000_000;

/** In place of a run: more than one run has sent the id, so all rows that are still older are outdated. */
const OTHERS = 0xffff_ffff;

/** SQL: what was sent of a kind. */
const isSent = (scope: Scope, kind: Kind): Sql =>
  sql`${isOfKind(scope, kind)} AND sends.state <> ${SEND.verified}`;

/** A send with its rows. `request`: if it is a part of one row that was rejected, since a search has found it at fault. */
interface SentPrints extends StoredPrints {
  send: number;
  run: string | null;
  at: string | null;
  is_completed: number;
  request: string | null;
}

export class Known {
  /** How many ids `load` has found, by scope and kind. The number of ids never decreases. */
  readonly #loaded = new Map<string, number>();

  constructor(
    private readonly access: Access,
    /** Frees disk space after much was deleted. */
    private readonly shrink: () => Promise<void>,
    private readonly idsAtOnce = IDS_AT_ONCE,
  ) {}

  /**
   * The last completed content of each id.
   * @param since ISO 8601: what was completed earlier, or at an unknown time, counts as unknown
   */
  load(scope: Scope, kind: Kind, since: string | null = null): Promise<FingerprintIndex> {
    const now = this.access.time();
    return this.access.db.read(async (on) => {
      const index = new FingerprintIndex(await countRows(on, isSent(scope, kind)));
      const sends = on.each<SentPrints>(
        sql`SELECT send, sends.run, completed_at AS at, ids, contents, records, record AS request,
            CASE sends.state WHEN ${SEND.completed} THEN 1 ELSE 0 END AS is_completed
          FROM sends JOIN fingerprints USING (send) LEFT JOIN requests ON requests.run = sends.run
            AND requests.seq = sends.seq AND requests.state = 'rejected' AND parent IS NOT NULL AND rows = 1
          WHERE ${isSent(scope, kind)} ORDER BY send`,
      );
      for await (const { send, run, is_completed, at, request, ...prints } of sends) {
        const old = since !== null && (at === null || at < since || at > now);
        const rejected = storedOrNull<RequestRest>(request, STORED.request, run ?? '');
        const reason = rejected?.merged === 0 ? rejected.reason : null;
        index.apply(printsOf(prints), is_completed === 1, { send, run, old }, reason);
      }
      this.#loaded.set(JSON.stringify([scope, kind]), index.size);
      return index;
    });
  }

  /** Hashes of the cells of a send, in the order of its rows; null if they were not recorded. */
  cells(send: number): Promise<CellColumns | null> {
    return this.access.db.read((on) => cellsOf(on, send));
  }

  /** A text that changes when ids of the kind are sent, or seen completed. */
  mark(scope: Scope, kind: Kind): Promise<string> {
    return this.access.db.read(async (on) => {
      const last = await on.get<{ at: string | null }>(
        sql`SELECT max(completed_at) AS at FROM sends WHERE ${isOfKind(scope, kind)} AND state = ${SEND.completed}`,
      );
      return `${await newestSend(on, scope, kind)} ${last!.at ?? 'never'}`;
    });
  }

  /** Clears the fingerprints of the whole kind: from now on, every row counts as changed. */
  async clear(scope: Scope, kind: Kind): Promise<void> {
    const completed = sql`${isOfKind(scope, kind)} AND state = ${SEND.completed}`;
    await this.access.run(sql`UPDATE sends SET state = ${SEND.dead} WHERE ${completed}`);
  }

  /** Column types of the last import by key, for warnings about changed types. */
  async columnTypes(scope: Scope, kind: Kind): Promise<Map<string, string>> {
    const query = sql`SELECT scope, ${typesOf(kind)} AS types FROM scopes WHERE scope = ${idOf(scope)}`;
    const [row] = await this.access.all<{ scope: number; types: string | null }>(query);
    return new Map(storedOrNull<[string, string][]>(row?.types ?? null, STORED[kind], row?.scope ?? 0));
  }

  setColumnTypes(scope: Scope, kind: Kind, types: ReadonlyMap<string, string>): Promise<void> {
    const set = sql`UPDATE scopes SET ${typesOf(kind)} = ${JSON.stringify([...types])} WHERE scope = ${idOf(scope)}`;
    return this.access.write(async (tx) => {
      await addScope(tx, scope);
      await tx.run(set);
    });
  }

  /**
   * Deletes outdated rows, if they are more than a third of all rows. Open sends are not changed. Outdated rows stay
   * outdated, so they are found before the transactions, and others wait only while sends are rewritten.
   * @param ids a lower bound for the number of ids, which may save reading all rows
   */
  async compact(scope: Scope, kind: Kind, ids = 0): Promise<void> {
    const fewest = Math.max(this.#loaded.get(JSON.stringify([scope, kind])) ?? 0, ids);
    const stays = await this.access.db.read((on) => this.#outdated(on, isSent(scope, kind), fewest));
    if (stays === null) return;
    // Oldest first: after a crash in between, no outdated row may remain while the row that made it outdated
    // is gone.
    for (const some of slicesOf([...stays.keys()].sort((a, b) => a - b))) {
      await this.access.write(async (tx) => {
        for (const send of some) await keepRows(tx, send, stays.get(send)!);
      });
    }
    await this.shrink();
  }

  /** For each send with outdated rows: a byte for each row, 1 if it stays. Null if they are not worth deleting. */
  async #outdated(on: Reader, sent: Sql, fewestIds: number): Promise<Map<number, Uint8Array> | null> {
    const stored = await countRows(on, sent);
    // Often, these numbers show that compaction is not worth reading all rows.
    if (stored < FEW_ROWS || stored <= 1.5 * fewestIds) return null;
    let dropped = 0;
    const stays = new Map<number, Uint8Array>();
    const parts = Math.ceil(stored / this.idsAtOnce);
    for (let part = 0; part < parts; part++) {
      // For each id, the number of the run that sent it last, or `OTHERS`. Runs and single profiles get numbers from 1.
      const room = Math.ceil((1.1 * stored) / parts) + FEW_ROWS;
      const last = new IdRows(room);
      const runOf = new Uint32Array(room + 1);
      const runs = new Map<string | number, number>();
      const sends = on.each<{ send: number; run: string | null; ids: Uint8Array; is_open: number }>(
        sql`SELECT send, run, ids, CASE WHEN state = ${SEND.pending} OR ${doubtAt(this.access.now())} THEN 1 ELSE 0 END AS is_open
          FROM sends JOIN fingerprints USING (send) WHERE ${sent} ORDER BY send DESC`,
      );
      for await (const { send, run, is_open, ...stored } of sends) {
        const own = runs.get(run ?? send) ?? runs.size + 1;
        runs.set(run ?? send, own);
        const words = wordsOf(hashesOf(stored.ids));
        for (let at = words.length / 2 - 1; at >= 0; at--) {
          const [low, high] = [words[2 * at]!, words[2 * at + 1]!];
          if (high % parts !== part) continue;
          const row = last.rowAt(low, high);
          if (row === 0) {
            last.add(low, high);
            runOf[last.size] = own;
          } else if (runOf[row] !== own) {
            // Rows that a run sent before another run sent the id are outdated, even if the run sent the id
            // again later.
            runOf[row] = OTHERS;
            if (is_open === 1) continue;
            const rows = stays.get(send) ?? new Uint8Array(words.length / 2).fill(1);
            rows[at] = 0;
            stays.set(send, rows);
            dropped++;
          }
        }
      }
    }
    return 3 * dropped > stored ? stays : null;
  }
}

/** The number of rows of all sends. There are at most as many ids. */
async function countRows(on: Reader, sent: Sql): Promise<number> {
  const row = await on.get<{ stored: number }>(
    sql`SELECT coalesce(sum(length(ids)), 0) / 8 AS stored FROM sends JOIN fingerprints USING (send) WHERE ${sent}`,
  );
  return row!.stored;
}

/** SQL: the column with the type of each column of a kind by its key. */
const typesOf = (kind: Kind): Sql => raw(`${kind}_types`);
