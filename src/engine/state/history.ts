/**
 * Stores which rows each request had, and which rows were rejected. From these, the outcome of a row and the
 * history of a profile are found (contract §1 `history`). Identifiers are keyed hashes. Unchanged rows are
 * not stored: a nightly import may have a million of them.
 */
import type { Kind } from '../model.js';
import type { Access } from './access.js';
import { insertInto, sql, type Transaction } from './database.js';
import {
  type InputLines,
  packIds,
  packLines,
  placesOf,
  shortId,
  unpackIds,
  unpackLines,
} from './row-lists.js';
import { idOf, type Scope } from './scopes.js';

/** Rows with the hashes of their ids, in the order of the lines. */
interface HashedRows {
  ids: BigUint64Array;
  lines: readonly InputLines[];
}

/** Rows of a request. */
export interface RequestRows {
  /** Lines of the rows that are sent, in the order of the hashes of their ids. */
  lines: readonly InputLines[];
  /** Rows that are not sent, because their ids were sent later, and that were not sent before. */
  leftOut: HashedRows;
  /** The same, and the service had acknowledged them before. */
  overtaken: HashedRows;
  /** The same, and they may have arrived before. */
  doubtful: HashedRows;
}

/** Rows of one input: the line and the `shortId` of each. */
export interface KnownRows {
  input: number;
  ids: Float64Array;
  lines: Float64Array;
}

/** The stored number of each kind of entry. */
export const WHAT = { sent: 0, left_out: 1, rejected: 2, identify: 3, overtaken: 4, doubtful: 5 } as const;
type What = keyof typeof WHAT;

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
    const names = Object.keys(WHAT) as What[];
    const packed = packIds(BigUint64Array.of(hash));
    const rows = await this.access.read((on) =>
      on.all<EntryRow>(
        sql`SELECT what, at, history.run, seq, ids, lines, history.job_id, note, account, region
          FROM history JOIN scopes USING (scope) LEFT JOIN requests USING (request)
          WHERE kind = ${kind} AND instr(ids, ${packed}) > 0 ORDER BY at DESC, entry DESC`,
      ),
    );
    return rows.flatMap(({ what, ids, lines, account, region, ...rest }) => {
      const places = [...placesOf(ids, shortId(hash))]; // none if its bytes are those of two neighbors
      const known = lines === null || places.length === 0 ? [] : knownRows(ids, lines);
      const inputs = known.flatMap(({ input, lines }) => Array.from(lines, () => input));
      const all = known.flatMap(({ lines }) => [...lines]);
      return places
        .map((place, nth) => ({
          ...rest,
          scope: { account, region },
          what: names[what]!,
          merged: what === WHAT.sent && nth > 0,
          input: inputs[place] ?? null,
          line: all[place] ?? null,
        }))
        .reverse();
    });
  }

  /** The rows that a request sent and left out, by input; null if they were pruned or never recorded. */
  async ofRequest(
    run: string,
    seq: number,
  ): Promise<Record<keyof Omit<RequestRows, 'lines'> | 'sent', KnownRows[]> | null> {
    const rows = await this.access.read((on) =>
      on.all<{ what: number; ids: Uint8Array; lines: Uint8Array }>(
        sql`SELECT what, ids, lines FROM history JOIN requests USING (request)
          WHERE requests.run = ${run} AND seq = ${seq}`,
      ),
    );
    if (rows.length === 0) return null;
    const of = (what: What): KnownRows[] =>
      rows.filter((row) => row.what === WHAT[what]).flatMap(({ ids, lines }) => knownRows(ids, lines));
    return {
      sent: of('sent'),
      leftOut: of('left_out'),
      overtaken: of('overtaken'),
      doubtful: of('doubtful'),
    };
  }

  /** The inputs that had unchanged rows, of which nothing else is stored, by run. */
  async unchanged(): Promise<Map<string, number[]>> {
    const found = new Map<string, number[]>();
    const query = 'SELECT DISTINCT run, input FROM requests WHERE unchanged > 0';
    const rows = await this.access.read((on) => on.all<{ run: string; input: number }>(query));
    for (const { run, input } of rows) found.set(run, [...(found.get(run) ?? []), input]);
    return found;
  }

  /** Replaces the rows of a kind that the plan of a run rejected. */
  putRejected(run: string, scope: Scope, kind: Kind, { ids, lines }: HashedRows): Promise<void> {
    const of = { run, scope, kind, request: null, at: this.access.now() };
    return this.access.write(async (tx) => {
      await tx.run(
        sql`DELETE FROM history WHERE run = ${run} AND kind = ${kind} AND what = ${WHAT.rejected}`,
      );
      await add(tx, 'rejected', of, ids, lines);
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
    if ((await this.access.write((tx) => tx.run(old))) > 0) await this.shrink();
  }
}

/** The request of an entry, and when it was sent, milliseconds since the epoch. */
interface Of {
  run: string;
  scope: Scope;
  kind: Kind;
  request: number | null;
  at: number;
}

/** Records the rows of a request that is about to be sent, in place of those of its last attempt. */
export async function putHistory(
  tx: Transaction,
  of: Of,
  ids: BigUint64Array,
  { lines, leftOut, overtaken, doubtful }: RequestRows,
): Promise<void> {
  const last = await tx.all<{ what: number; at: number }>(
    sql`DELETE FROM history WHERE request = ${of.request} RETURNING what, at`,
  );
  // When it was sent first.
  const before = Math.min(of.at, ...last.filter(({ what }) => what !== WHAT.left_out).map(({ at }) => at));
  await add(tx, 'sent', of, ids, lines);
  await add(tx, 'left_out', of, leftOut.ids, leftOut.lines);
  await add(tx, 'overtaken', { ...of, at: before }, overtaken.ids, overtaken.lines);
  await add(tx, 'doubtful', { ...of, at: before }, doubtful.ids, doubtful.lines);
}

async function add(
  tx: Transaction,
  what: What,
  of: Of,
  ids: BigUint64Array,
  lines: readonly InputLines[],
): Promise<void> {
  if (ids.length === 0) return;
  const row = { ...of, scope: idOf(of.scope), what: WHAT[what], ids: packIds(ids), lines: packLines(lines) };
  await tx.run(insertInto('history', row));
}

/** Records a profile that `identify` sends. Its outcome is unknown until `noteProfile`. */
export async function putProfile(
  tx: Transaction,
  send: number,
  { scope, kind, at }: Pick<Of, 'scope' | 'kind' | 'at'>,
  ids: BigUint64Array,
): Promise<void> {
  const row = { what: WHAT.identify, scope: idOf(scope), kind, send, at, ids: packIds(ids) };
  await tx.run(insertInto('history', row));
}

/** Records the outcome of such a profile, or the job that will have it. */
export async function noteProfile(
  tx: Transaction,
  send: number,
  { note = null, job = null }: { note?: string | null; job?: string | null },
): Promise<void> {
  await tx.run(sql`UPDATE history SET note = ${note}, job_id = ${job} WHERE send = ${send}`);
}

function knownRows(ids: Uint8Array, lines: Uint8Array): KnownRows[] {
  const all = unpackIds(ids);
  let from = 0;
  return unpackLines(lines).map(({ input, lines }) => {
    const rows = { input, lines, ids: all.subarray(from, from + lines.length) };
    from += lines.length;
    return rows;
  });
}
