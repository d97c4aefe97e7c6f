/** Rows of any format, whole and in order, as they travel from a file to the threads. */
import { mustEscape, Output } from './text/bytes.js';
import type { RejectedRecord } from './types.js';
import type { Refusal } from './wording.js';

/**
 * Whole rows as UTF-8, not yet checked. Plain data: can be posted to a thread, and kept on disk as it is. Each row has
 * `width` cells, one after another; an item of JSON is one cell. Rows of Parquet have `cells` instead.
 */
export interface Rows {
  /** In its own ArrayBuffer, which `cells` may share. */
  bytes: Uint8Array<ArrayBuffer>;
  /** For each cell: where its text begins and ends in `bytes`, without quotes around it. */
  starts: Uint32Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
  /** For each cell, bits: `ESCAPED` and `DOUBLED`; in a sheet also its type in the workbook, above them. */
  kinds: Uint8Array<ArrayBuffer>;
  width: number;
  /** Parquet: the cells by column. */
  cells?: CellColumn[];
  /** What messages show for each row: the line on which it begins, or in a JSON array its number. */
  lines: Uint32Array<ArrayBuffer>;
  /** JSON: the line of the file on which each item begins. */
  fileLines?: Uint32Array<ArrayBuffer>;
  /** How many rows of the input come before these. */
  first: number;
  /** The number of each row in the input, if some were filtered out. Absent: they count up from `first`. */
  rows?: Float64Array<ArrayBuffer>;
  /** Rows that cannot be read or have another width, in order. Among the others, they have empty cells. */
  odd?: OddRow[];
  /** Keyed hashes of the identifiers of its accepted rows, if an earlier pass has kept them. */
  knownIds?: BigUint64Array<ArrayBuffer> | undefined;
}

/** The cells of a column, of rows that follow one another. */
export interface CellColumn {
  bytes: Uint8Array<ArrayBuffer>;
  /** Where each cell begins in `bytes`, and where the last one ends. */
  starts: Uint32Array<ArrayBuffer>;
  /**
   * What each cell holds: `ESCAPED_TEXT`, `AS_JSON`, `ABSENT`, or one of the first four `JSON_TYPES`: a text without quotes,
   * or a number or a boolean as `JSON.stringify` writes it. Null if all are texts that JSON does not escape.
   */
  kinds: Uint8Array<ArrayBuffer> | null;
}

/** A text without quotes, of which JSON escapes some. */
export const ESCAPED_TEXT = 4;
/** The JSON text of any value. */
export const AS_JSON = 5;
/** The row has no value in the column. */
export const ABSENT = 6;

export interface OddRow {
  /** Its index in the batch. */
  number: number;
  /** Its cells, as far as they can be told. */
  cells: string[];
  /** Why it cannot be sent; null if it only has another width. */
  reason: string | null;
}

/** The text of a cell has bytes that JSON escapes. */
export const ESCAPED = 1;
/** Each quote in the text of a cell is doubled. */
export const DOUBLED = 2;
/** How many bits of a kind these take. */
export const KIND_BITS = 2;

/** The number of a row among all rows of the input, from 0. */
export const rowOf = ({ first, rows }: Pick<Rows, 'first' | 'rows'>, number: number): number =>
  rows === undefined ? first + number : rows[number]!;

/** A rejected row of a batch, with its cells or text as they are in the file. */
export const rejectedRecord = (
  file: string,
  batch: Rows,
  number: number,
  refusal: Refusal,
  original: RejectedRecord['original'],
): RejectedRecord => ({
  file,
  line: batch.lines[number]!,
  row: rowOf(batch, number),
  ...(typeof refusal === 'string' ? { reason: refusal } : refusal),
  original,
});

/** Some rows of a batch, by their indexes in it, ascending. Those without `cells` share its bytes. */
export function only(batch: Rows, numbers: readonly number[]): Rows {
  const { starts, ends, kinds, width, lines, fileLines, odd } = batch;
  const cells = new CellLists(batch.cells ? 0 : numbers.length * width);
  for (const number of batch.cells ? [] : numbers) {
    for (let cell = number * width; cell < (number + 1) * width; cell++)
      cells.push(starts[cell]!, ends[cell]!, kinds[cell]!);
  }
  const places = new Map(numbers.map((number, place) => [number, place]));
  const some = (list: Uint32Array) => Uint32Array.from(numbers, (number) => list[number]!);
  return {
    ...batch,
    ...cells.take(),
    ...(batch.cells && {
      bytes: new Uint8Array(0),
      cells: batch.cells.map((column) => cellsOf(column, numbers)),
    }),
    lines: some(lines),
    ...(fileLines && { fileLines: some(fileLines) }),
    rows: Float64Array.from(numbers, (number) => rowOf(batch, number)),
    ...(odd && {
      odd: odd.flatMap((row) => {
        const number = places.get(row.number);
        return number === undefined ? [] : [{ ...row, number }];
      }),
    }),
  };
}

/** Some cells of a column, in memory of their own. */
function cellsOf({ bytes, starts, kinds }: CellColumn, numbers: readonly number[]): CellColumn {
  const own = new Uint32Array(numbers.length + 1);
  for (const [at, number] of numbers.entries())
    own[at + 1] = own[at]! + starts[number + 1]! - starts[number]!;
  const copied = new Uint8Array(own[numbers.length]!);
  for (const [at, number] of numbers.entries())
    copied.set(bytes.subarray(starts[number], starts[number + 1]), own[at]);
  return {
    bytes: copied,
    starts: own,
    kinds: kinds && Uint8Array.from(numbers, (number) => kinds[number]!),
  };
}

/** A growing list of whole numbers below 2^32, which keeps its memory. */
export class NumberList {
  #numbers = new Uint32Array(1024);
  length = 0;

  push(number: number): void {
    if (this.length === this.#numbers.length) {
      const larger = new Uint32Array(2 * this.length);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers[this.length++] = number;
  }

  at(index: number): number | undefined {
    return index < this.length ? this.#numbers[index] : undefined;
  }

  /** A copy of the list, which is emptied. */
  take(): Uint32Array<ArrayBuffer> {
    const taken = this.#numbers.slice(0, this.length);
    this.length = 0;
    return taken;
  }
}

/** Growing lists of where cells are, without an object for each. */
export class CellLists {
  starts: Uint32Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
  kinds: Uint8Array<ArrayBuffer>;
  length = 0;

  constructor(size: number) {
    this.starts = new Uint32Array(size);
    this.ends = new Uint32Array(size);
    this.kinds = new Uint8Array(size);
  }

  push(start: number, end: number, kind: number): void {
    const at = this.length;
    if (at === this.starts.length) this.#grow();
    this.starts[at] = start;
    this.ends[at] = end;
    this.kinds[at] = kind;
    this.length = at + 1;
  }

  /** Copies of the lists, which are emptied. */
  take(): Pick<Rows, 'starts' | 'ends' | 'kinds'> {
    const { starts, ends, kinds, length } = this;
    this.length = 0;
    return {
      starts: starts.slice(0, length),
      ends: ends.slice(0, length),
      kinds: kinds.slice(0, length),
    };
  }

  #grow(): void {
    const larger = new CellLists(Math.max(64, 2 * this.length));
    larger.starts.set(this.starts);
    larger.ends.set(this.ends);
    larger.kinds.set(this.kinds);
    ({ starts: this.starts, ends: this.ends, kinds: this.kinds } = larger);
  }
}

/** Collects rows whose cells are texts already. */
export class RowsBuilder {
  readonly #out = new Output(64 * 1024);
  readonly #cells = new CellLists(4096);
  readonly #lines = new NumberList();
  #odd: OddRow[] = [];
  #first = 0;

  constructor(readonly width: number) {}

  get length(): number {
    return this.#lines.length;
  }

  /** Of the texts so far. */
  get bytes(): number {
    return this.#out.length;
  }

  /** @param cells fewer than the width if the others are empty @param kinds of the cells in a workbook */
  add(line: number, cells: readonly string[], kinds?: readonly number[]): void {
    for (let at = 0; at < this.width; at++) {
      writeCell(this.#out, this.#cells, cells[at] ?? '', (kinds?.[at] ?? 0) << KIND_BITS);
    }
    this.#lines.push(line);
  }

  /** @param row whose number is `length` */
  addOdd(line: number, row: OddRow): void {
    this.#odd.push(row);
    for (let at = 0; at < this.width; at++) this.#cells.push(this.#out.length, this.#out.length, 0);
    this.#lines.push(line);
  }

  take(): Rows {
    const [lines, odd, first] = [this.#lines.take(), this.#odd, this.#first];
    this.#first += lines.length;
    this.#odd = [];
    return {
      ...this.#cells.take(),
      bytes: this.#out.take(),
      width: this.width,
      lines,
      first,
      ...(odd.length > 0 && { odd }),
    };
  }
}

/** Writes a cell from its text. @param kind without `ESCAPED` */
export function writeCell(out: Output, cells: CellLists, text: string, kind = 0): void {
  const start = out.length;
  out.write(text);
  cells.push(start, out.length, needsEscape(text) ? kind | ESCAPED : kind);
}

/** Whether JSON escapes some of a text. */
export function needsEscape(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (mustEscape(text.charCodeAt(at))) return true;
  return false;
}
