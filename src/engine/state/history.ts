/**
 * Stores which rows each request had, and which rows were rejected. From these, the outcome of a row and the
 * history of a profile are found (contract §1 `history`). Identifiers are keyed hashes. Unchanged rows are
 * not stored: a nightly import may have a million of them.
 */

import type { Kind } from '../model.js';
import type { Reader, Transaction } from './database.js';
import { type InputLines, packIds, packLines, placesOf, unpackIds, unpackLines } from './row-lists.js';
import type { Scope } from './types.js';

/** Rows of a request. */
export interface RequestRows {
  /** Lines of the rows that are sent, in the order of the hashes of their ids. */
  lines: readonly InputLines[];
  /** Rows that are not sent, because their ids were sent later, and that were not sent before. */
  leftOut: { ids: BigUint64Array; lines: readonly InputLines[] };
  /** The same, and the service had acknowledged them before. */
  overtaken: { ids: BigUint64Array; lines: readonly InputLines[] };
  /** The same, and they may have arrived before. */
  doubtful: { ids: BigUint64Array; lines: readonly InputLines[] };
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

type EntryRow = Omit<HistoryEntry, 'what'> & {
  what: number;
  account: string;
  region: string;
  ids: Uint8Array;
  lines: Uint8Array | null;
};

export class History {
  /**
   * Deletes the rows of a request, before those of its next attempt are recorded.
   * @returns when it was sent last, milliseconds since the epoch; undefined if that is not recorded
   */
  async forgetRequest(tx: Transaction, request: number): Promise<number | undefined> {
    const sent = await tx.get<{ at: number | null }>(
      'SELECT min(at) AS at FROM history WHERE request = ? AND what IN (?, ?, ?)',
      request,
      WHAT.sent,
      WHAT.overtaken,
      WHAT.doubtful,
    );
    await tx.run('DELETE FROM history WHERE request = ?', request);
    return sent?.at ?? undefined;
  }

  /**
   * Records the rows of a request that is about to be sent.
   * @param at milliseconds since the epoch
   * @param before when an earlier attempt was made
   */
  async putRequest(
    tx: Transaction,
    of: { run: string; scope: number; kind: Kind; request: number; at: number },
    ids: BigUint64Array,
    { lines, leftOut, overtaken, doubtful }: RequestRows,
    before = of.at,
  ): Promise<void> {
    if (ids.length > 0) await this.#add(tx, 'sent', of, ids, lines);
    if (leftOut.ids.length > 0) await this.#add(tx, 'left_out', of, leftOut.ids, leftOut.lines);
    for (const [what, rows] of Object.entries({ overtaken, doubtful }) as [What, typeof overtaken][])
      if (rows.ids.length > 0) await this.#add(tx, what, { ...of, at: before }, rows.ids, rows.lines);
  }

  /** Replaces the rows of a kind that the plan of a run rejected. */
  async putRejected(
    tx: Transaction,
    of: { run: string; scope: number; kind: Kind; at: number },
    ids: BigUint64Array,
    lines: readonly InputLines[],
  ): Promise<void> {
    await tx.run(
      'DELETE FROM history WHERE run = ? AND kind = ? AND what = ?',
      of.run,
      of.kind,
      WHAT.rejected,
    );
    if (ids.length > 0) await this.#add(tx, 'rejected', { ...of, request: null }, ids, lines);
  }

  async #add(
    tx: Transaction,
    what: What,
    of: { run: string; scope: number; kind: Kind; request: number | null; at: number },
    ids: BigUint64Array,
    lines: readonly InputLines[],
  ): Promise<void> {
    await tx.run(
      'INSERT INTO history (what, run, scope, kind, request, at, ids, lines) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      WHAT[what],
      of.run,
      of.scope,
      of.kind,
      of.request,
      of.at,
      packIds(ids),
      packLines(lines),
    );
  }

  /** Records a profile that `identify` sends. Its outcome is unknown until `noteProfile`. */
  async putProfile(
    tx: Transaction,
    send: number,
    scope: number,
    kind: Kind,
    ids: BigUint64Array,
    at: number,
  ): Promise<void> {
    await tx.run(
      'INSERT INTO history (what, scope, kind, send, at, ids) VALUES (?, ?, ?, ?, ?, ?)',
      WHAT.identify,
      scope,
      kind,
      send,
      at,
      packIds(ids),
    );
  }

  /** Records the outcome of such a profile, or the job that will have it. */
  async noteProfile(
    tx: Transaction,
    send: number,
    { note = null, job = null }: { note?: string | null; job?: string | null },
  ): Promise<void> {
    await tx.run('UPDATE history SET note = ?, job_id = ? WHERE send = ?', note, job, send);
  }

  /** The rows that a request sent and did not send, by input; null if they were pruned or never recorded. */
  async ofRequest(
    on: Reader,
    run: string,
    seq: number,
  ): Promise<Record<keyof Omit<RequestRows, 'lines'> | 'sent', KnownRows[]> | null> {
    const rows = await on.all<{ what: number; ids: Uint8Array; lines: Uint8Array }>(
      'SELECT what, ids, lines FROM history JOIN requests USING (request) WHERE requests.run = ? AND seq = ?',
      run,
      seq,
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

  /** Reads all entries of the kind to find those of an id, newest first. @param id `shortId` of its hash */
  async find(on: Reader, kind: Kind, id: number): Promise<HistoryEntry[]> {
    const names = Object.keys(WHAT) as What[];
    const rows = on.each<EntryRow>(
      `SELECT what, at, history.run, seq, ids, lines, history.job_id, note, account, region
       FROM history JOIN scopes USING (scope) LEFT JOIN requests USING (request)
       WHERE kind = ? ORDER BY at DESC, entry DESC`,
      kind,
    );
    const found: HistoryEntry[] = [];
    for await (const { what, ids, lines, account, region, ...rest } of rows) {
      const places = [...placesOf(ids, id)];
      if (places.length === 0) continue;
      const known = lines === null ? [] : knownRows(ids, lines);
      found.push(
        ...places
          .map((place, nth) => ({
            ...rest,
            scope: { account, region },
            what: names[what]!,
            merged: what === WHAT.sent && nth > 0,
            ...placeAt(known, place),
          }))
          .reverse(),
      );
    }
    return found;
  }

  /** Deletes older entries. @param before milliseconds since the epoch. @returns whether there were any */
  async prune(tx: Transaction, before: number): Promise<boolean> {
    return (await tx.run('DELETE FROM history WHERE at < ?', before)) > 0;
  }
}

function knownRows(ids: Uint8Array, lines: Uint8Array): KnownRows[] {
  const all = unpackIds(ids);
  let from = 0;
  return unpackLines(lines).map(({ input, lines }) => {
    const to = from + lines.length;
    const rows = { input, lines, ids: all.subarray(from, to) };
    from = to;
    return rows;
  });
}

function placeAt(known: readonly KnownRows[], place: number): { input: number | null; line: number | null } {
  let left = place;
  for (const { input, lines } of known) {
    if (left < lines.length) return { input, line: lines[left]! };
    left -= lines.length;
  }
  return { input: null, line: null };
}
