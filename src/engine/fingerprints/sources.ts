/** The sends that the rows of a fingerprint index come from, and which rows are folded into one content. */
import { hash } from 'node:crypto';
import { firstWhere } from '../util/bisect.js';

/** A send. Consecutive rows of an id from sends of one run are folded into one content. */
export interface PrintSource {
  /** Number of the send. */
  send: number;
  run: string | null;
  /** Whether it was completed so long ago that its rows are to be sent again. */
  old?: boolean;
}

/** For rows that are not from a send. */
export const NOWHERE: PrintSource = { send: 0, run: null };

/** A row of a send. `at` counts from 0. */
export interface PlaceOfRow {
  send: number;
  at: number;
}

const PAIR = new BigUint64Array(2);
const PAIR_BYTES = new Uint8Array(PAIR.buffer);

/**
 * Folds the content of the next row of an id into that of the rows before. Equal contents in a row count
 * once. 0: none, or not known.
 */
export function foldContents(before: bigint, next: bigint): bigint {
  if (before === 0n || next === 0n || before === next) return next;
  PAIR[0] = before;
  PAIR[1] = next;
  return BigInt(`0x${hash('sha256', PAIR_BYTES, 'hex').slice(0, 16)}`);
}

/** The sends of all rows, in order. Rows count from 1. */
export class RowSources {
  readonly #sends: { from: PrintSource; to: number }[] = [];
  /** Pairs in ascending order: a row, and the earlier row of the same id and run that it follows. */
  readonly #following: number[] = [];

  /** @param to the last row of the send */
  add(from: PrintSource, to: number): void {
    this.#sends.push({ from, to });
  }

  /** Whether a row was sent by the same run as this send. */
  isOf(row: number, { run }: PrintSource): boolean {
    return run !== null && this.#sends[this.#sendOf(row)]!.from.run === run;
  }

  /** Records that a row follows an earlier one of the same id and run. */
  follow(row: number, before: number): void {
    this.#following.push(row, before);
  }

  /** A row and all rows that it follows, in order. */
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
