/**
 * Stores which rows each request had, and which rows were rejected. From these, the outcome of a row and the
 * history of a profile are found (contract §1 `history`). Identifiers are the first six bytes of keyed hashes, and lines
 * are stored as their differences: a few bytes for a request of a CSV, whose lines follow each other. Unchanged rows
 * are not stored: a nightly import may have a million of them.
 */
import { deflateSync, inflateSync } from 'node:zlib';
import { bytesOf, hashesOf } from '../fingerprints/tables.js';
import type { Kind } from '../model.js';
import { type Access, idOf, type Scope } from './access.js';
import { insertInto, STORED, sql, storedJson, type Transaction } from './database.js';
import { IDENTIFY } from './send-table.js';

/** How long rows are kept: 90 days, in milliseconds. */
export const HISTORY_KEPT_MS = 90 * 24 * 3_600_000;

/** Lines of one input; ascending if the request has its rows in order. */
interface InputLines {
  /** Index of the input in the run. */
  input: number;
  lines: ArrayLike<number>;
}

/** Rows with the hashes of their ids, in the order of the lines. */
interface HashedRows {
  ids: BigUint64Array;
  lines: readonly InputLines[];
}

/**
 * Rows of a request: those that are sent, and those that are not, because their ids were sent later, and that were not
 * sent before (`leftOut`), that the service had acknowledged before (`overtaken`), or that may have arrived before
 * (`doubtful`).
 */
export type RequestRows = Record<'sent' | 'leftOut' | 'overtaken' | 'doubtful', HashedRows>;

/** The stored number of each kind of entry. */
export const WHAT = { sent: 0, leftOut: 1, rejected: 2, identify: 3, overtaken: 4, doubtful: 5 } as const;
type What = keyof typeof WHAT;
const NAMES = Object.keys(WHAT) as What[];

/** One event in the history of a profile. */
export interface HistoryEntry {
  what: What;
  scope: Pick<Scope, 'account' | 'region'>;
  /** Milliseconds since the epoch; for a request, when it was last sent. */
  at: number;
  /** Null for a profile that `identify` sent. */
  run: string | null;
  /** Number of the request in the run. */
  seq: number | null;
  input: number | null;
  line: number | null;
  /** An earlier row of the request has the same id. */
  merged: boolean;
  /** For a profile that `identify` sent: its job, and its outcome if it has no job. */
  job_id: string | null;
  note: string | null;
}

type EntryRow = Pick<HistoryEntry, 'at' | 'run' | 'seq' | 'job_id' | 'note'> &
  HistoryEntry['scope'] & { what: number; ids: Uint8Array; lines: Uint8Array | null };

export class History {
  constructor(
    private readonly access: Access,
    /** Frees disk space after much was deleted. */
    private readonly shrink: () => Promise<void>,
  ) {}

  /** The history of a profile in all accounts, newest first. @param hash the keyed hash of its id */
  async find(kind: Kind, hash: bigint): Promise<HistoryEntry[]> {
    const packed = packIds(BigUint64Array.of(hash));
    const rows = await this.access.all<EntryRow>(
      sql`SELECT what, at, history.run, seq, ids, lines, job_id, note, account, region
        FROM history JOIN scopes USING (scope) LEFT JOIN runs ON runs.run = history.run
        WHERE kind = ${kind} AND instr(ids, ${packed}) > 0
        ORDER BY at DESC, coalesce(began, send) DESC, seq DESC, what DESC`,
    );
    return rows.flatMap(({ what, ids, lines, account, region, ...rest }) => {
      const all = lines === null ? [] : unpackLines(lines, rest.run ?? IDENTIFY);
      // None if its bytes are those of two neighbors.
      const places = [...unpackIds(ids).entries()].filter(([, id]) => id === shortId(hash));
      return places
        .map(([place], nth) => ({
          ...rest,
          scope: { account, region },
          what: NAMES[what]!,
          merged: what === WHAT.sent && nth > 0,
          input: all[place]?.input ?? null,
          line: all[place]?.line ?? null,
        }))
        .reverse();
    });
  }

  /** `shortId` of the rows that a request sent and left out; null if they were pruned or never recorded. */
  async ofRequest(run: string, seq: number): Promise<Partial<Record<What, BigUint64Array>> | null> {
    const query = sql`SELECT what, ids FROM history WHERE run = ${run} AND seq = ${seq}`;
    const rows = await this.access.all<{ what: number; ids: Uint8Array }>(query);
    if (rows.length === 0) return null;
    return Object.fromEntries(rows.map(({ what, ids }) => [NAMES[what]!, unpackIds(ids)]));
  }

  /** The inputs that had unchanged rows, of which nothing else is stored, by run. */
  async unchanged(): Promise<Map<string, number[]>> {
    const found = new Map<string, number[]>();
    const query = 'SELECT DISTINCT run, input FROM requests WHERE unchanged > 0';
    for (const { run, input } of await this.access.all<{ run: string; input: number }>(query))
      found.set(run, [...(found.get(run) ?? []), input]);
    return found;
  }

  /** Replaces the rows of a kind that the plan of a run rejected. */
  putRejected(run: string, scope: Scope, kind: Kind, rows: HashedRows): Promise<void> {
    const at = this.access.now();
    return this.access.write(async (tx) => {
      await tx.run(
        sql`DELETE FROM history WHERE run = ${run} AND kind = ${kind} AND what = ${WHAT.rejected}`,
      );
      await addHistory(tx, 'rejected', { run, scope, kind, at }, rows);
    });
  }

  /**
   * Deletes older entries, but for those that tell a run that continues which rows of a refused request it did not send:
   * its rejects file is written again.
   * @param before milliseconds since the epoch
   */
  async prune(before: number): Promise<void> {
    const needed = sql`SELECT run FROM runs JOIN requests USING (run)
      WHERE finished = 0 AND state = 'rejected' AND unchanged + left_out > 0`;
    const old = sql`DELETE FROM history WHERE at < ${Math.floor(before)} AND coalesce(run, '') NOT IN (${needed})`;
    if ((await this.access.run(old)) > 0) await this.shrink();
  }
}

/** The request of an entry, or the send of a profile; and when it was sent, milliseconds since the epoch. */
interface Of {
  scope: Scope;
  kind: Kind;
  at: number;
  run?: string;
  seq?: number;
  send?: number;
}

/** Records the rows of a request that is about to be sent, in place of those of its last attempt. */
export async function putHistory(
  tx: Transaction,
  of: Of & { run: string; seq: number },
  rows: RequestRows,
): Promise<void> {
  const last = await tx.all<{ what: number; at: number }>(
    sql`DELETE FROM history WHERE run = ${of.run} AND seq = ${of.seq} RETURNING what, at`,
  );
  // When it was sent first.
  const before = Math.min(of.at, ...last.filter(({ what }) => what !== WHAT.leftOut).map(({ at }) => at));
  for (const what of ['sent', 'leftOut', 'overtaken', 'doubtful'] as const) {
    const isBefore = what === 'overtaken' || what === 'doubtful';
    await addHistory(tx, what, isBefore ? { ...of, at: before } : of, rows[what]);
  }
}

/** Records rows. What becomes of a profile that `identify` sends is not known until its entry is changed. */
export async function addHistory(
  tx: Transaction,
  what: What,
  of: Of,
  { ids, lines }: HashedRows,
): Promise<void> {
  if (ids.length === 0) return;
  const row = { ...of, scope: idOf(of.scope), what: WHAT[what], ids: packIds(ids), lines: packLines(lines) };
  await tx.run(insertInto('history', row));
}

const ID_BYTES = 6;
const MASK = (1n << BigInt(8 * ID_BYTES)) - 1n;

/**
 * The part of a hash that is stored. With 100 million stored rows, one lookup in about three million finds a row of
 * another id.
 */
export const shortId = (hash: bigint): bigint => hash & MASK;

/** Packs the stored part of each hash: the low bytes, which come first, as in all stored hashes. */
function packIds(hashes: BigUint64Array): Uint8Array {
  const bytes = bytesOf(hashes);
  const packed = new Uint8Array(hashes.length * ID_BYTES);
  for (let at = 0; at < packed.length; at++)
    packed[at] = bytes[Math.floor(at / ID_BYTES) * 8 + (at % ID_BYTES)]!;
  return packed;
}

/** Reverses `packIds`: returns `shortId` of each hash. */
function unpackIds(packed: Uint8Array): BigUint64Array {
  const bytes = new Uint8Array((packed.length / ID_BYTES) * 8);
  packed.forEach((byte, at) => {
    bytes[Math.floor(at / ID_BYTES) * 8 + (at % ID_BYTES)] = byte;
  });
  return hashesOf(bytes);
}

/** More bytes than this are deflated: many lines do not follow each other. Deflating a few takes longer than storing them. */
const MOST_PLAIN = 200;
/** The first byte of what `deflateSync` gives; that of JSON is a bracket. */
const DEFLATED = 0x78;

/** Packs for each input: its index, and by how much each line is after the one before, with how often in a row. */
function packLines(inputs: readonly InputLines[]): Uint8Array {
  const packed = inputs.map(({ input, lines }) => {
    const runs = [input];
    for (let row = 0; row < lines.length; row++) {
      const step = lines[row]! - (lines[row - 1] ?? 0);
      if (runs.length > 1 && runs.at(-2) === step) runs[runs.length - 1]!++;
      else runs.push(step, 1);
    }
    return runs;
  });
  const text = Buffer.from(JSON.stringify(packed));
  return text.length > MOST_PLAIN ? deflateSync(text) : text;
}

/** Reverses `packLines`: the input and line of each row. */
function unpackLines(packed: Uint8Array, run: string): { input: number; line: number }[] {
  const text = packed[0] === DEFLATED ? inflateSync(packed) : Buffer.from(packed);
  return storedJson<number[][]>(text.toString(), STORED.lines, run).flatMap(([input, ...runs]) => {
    const rows: { input: number; line: number }[] = [];
    let line = 0;
    for (let at = 0; at < runs.length; at += 2) {
      for (let left = runs[at + 1]!; left > 0; left--) {
        line += runs[at]!;
        rows.push({ input: input!, line });
      }
    }
    return rows;
  });
}
