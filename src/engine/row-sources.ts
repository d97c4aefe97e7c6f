/** Where the rows of a fingerprint index come from, and which of them count together. */
import { hash } from 'node:crypto';
import { firstWhere } from './bisect.js';

/** Rows of an id that one run sends after each other count together. */
export interface PrintSource {
  /** Number of the send. */
  send: number;
  run: string | null;
  /** Completed so long ago that its rows are to be sent again. */
  old?: boolean;
}

export const NOWHERE: PrintSource = { send: 0, run: null };

/** A row of a send, from 0. */
export interface PlaceOfRow {
  send: number;
  at: number;
}

const PAIR = new BigUint64Array(2);
const PAIR_BYTES = new Uint8Array(PAIR.buffer);

/**
 * The content of rows of one id that go out one after another: of those before, and the next one. Equal rows that follow
 * each other count once. 0: not known, or none.
 */
export function foldContents(before: bigint, next: bigint): bigint {
  if (before === 0n || next === 0n || before === next) return next;
  PAIR[0] = before;
  PAIR[1] = next;
  return hash('sha256', PAIR_BYTES, 'buffer').readBigUInt64LE(0);
}

/**
 * What a run had sent of an id before sends that did not complete but may have been carried out. If it sends the same
 * again, all of it and in the same order, the id has what it would have without them.
 */
export interface Lapsed {
  /** Of all rows that count, folded. */
  content: bigint;
  old: boolean;
  run: string | null;
  /** Contents that are to be sent again, in order. */
  next: bigint[];
  /** The last send that did not complete, and how many of its contents were compared. */
  send: number;
  compared: number;
}

/**
 * Takes the next content of an id.
 * @returns whether it is the next one that is to be sent again, or one that did not complete once more
 */
export function continues(
  lapsed: Lapsed,
  content: bigint,
  set: boolean,
  { run, send, old = false }: PrintSource,
): boolean {
  const { next } = lapsed;
  if (lapsed.run !== run || content === 0n) return false;
  if (set) {
    if (next[0] !== content) return false;
    next.shift();
    lapsed.old ||= old;
    if (next.length > 0) lapsed.content = foldContents(lapsed.content, content);
    return true;
  }
  if (lapsed.send !== send) Object.assign(lapsed, { send, compared: 0 });
  if (lapsed.compared === next.length) next.push(content);
  return next[lapsed.compared++] === content;
}

/** The sends that rows are of, in their order. Rows count from 1. */
export class RowSources {
  readonly #sends: { from: PrintSource; to: number }[] = [];
  /** Pairs, the first ascending: a row, and the one before it of the same id and run. */
  readonly #following: number[] = [];

  /** @param to the last row of the send */
  add(from: PrintSource, to: number): void {
    this.#sends.push({ from, to });
  }

  /** Whether a row is of this run. */
  isOf(row: number, { run }: PrintSource): boolean {
    return run !== null && this.#sends[this.#sendOf(row)]!.from.run === run;
  }

  /** A row follows one before it. */
  follow(row: number, before: number): void {
    this.#following.push(row, before);
  }

  /** A row and those that it follows, the first of them first. */
  placesOf(row: number): PlaceOfRow[] {
    const places: PlaceOfRow[] = [];
    for (let at = row; at !== 0; at = this.#before(at)) {
      const index = this.#sendOf(at);
      places.unshift({ send: this.#sends[index]!.from.send, at: at - 1 - (this.#sends[index - 1]?.to ?? 0) });
    }
    return places;
  }

  #sendOf(row: number): number {
    return firstWhere(this.#sends.length, (at) => this.#sends[at]!.to >= row);
  }

  #before(row: number): number {
    const following = this.#following;
    const pair = firstWhere(following.length / 2, (at) => following[2 * at]! >= row);
    return following[2 * pair] === row ? following[2 * pair + 1]! : 0;
  }
}
