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
