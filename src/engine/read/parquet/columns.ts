/** Reads a column, some rows at a time: texts as they are, and the JSON texts of other values. */
import { InputError } from '../../errors.js';
import { jsonString } from '../json/text.js';
import { ABSENT, AS_JSON, ESCAPED, type Rows } from '../rows.js';
import { isPlain, Output } from '../text/bytes.js';
import type { ArrowValues } from './arrow.js';
import type { FileColumn, ParquetFile } from './file.js';
import { readerOf } from './nested.js';
import { ColumnPages } from './pages.js';
import { BadValueError, converterOf, isJson, isText, textOf } from './values.js';

/** How a column goes into items. */
export interface Member {
  /** Whether a value that cannot be sent rejects its row: not in a column that is left out, or sent as text. */
  rejects: boolean;
  /** JSON text of a missing value; null to leave the key out. */
  missing: string | null;
  /** Which values become text: whole numbers in identifiers, or all if the user pinned the column to text. */
  asText: 'none' | 'integers' | 'all';
  /** Text that holds a JSON object is written as that object. */
  spread: boolean;
  /** The values include 64-bit integers that a double cannot hold. */
  wide: boolean;
}

/** With fewer rows, loading parquet-wasm takes longer than it saves. */
const LEAST_ROWS = 100_000;

/** The values of some rows. */
interface Part {
  first: number;
  /** The row after the last. */
  end: number;
  out: Output;
  /** Where each value begins, and where the last one ends. */
  starts: Uint32Array;
  /** As in `Rows`. */
  kinds: Uint8Array;
  /** Why values cannot be sent, by row. */
  bad: Map<number, string>;
}

const PLAIN = 0;

function newPart(): Part {
  const nothing = { starts: new Uint32Array(1), kinds: new Uint8Array(0), bad: new Map() };
  return { first: 0, end: 0, out: new Output(64), ...nothing };
}

export class Column {
  /** The rows that are loaded. Their numbers are those in the file, from 0. */
  part = newPart();
  /** The rows after them, once they are decoded, in the memory of those before. */
  #following = newPart();
  #next: Promise<IteratorResult<void, void>> | null = null;
  readonly #parts: AsyncGenerator<void, void>;
  /** Writes a value, and gives its kind. It has written nothing when it throws. */
  readonly #write: (raw: unknown) => number;

  constructor(
    private readonly file: ParquetFile,
    private readonly column: FileColumn,
    private readonly member: Member,
  ) {
    this.#parts = this.#read();
    this.#write = this.#writer();
  }

  /** Decodes the rows after those that are loaded, if there are any. What is wrong with them is told when they are loaded. */
  async prepare(): Promise<void> {
    if (this.#next !== null) return;
    this.#next = this.#parts.next();
    await this.#next.catch(() => {});
  }

  /** Loads the rows after those that are loaded. @throws InputError */
  async load(): Promise<void> {
    const next = this.#next ?? this.#parts.next();
    this.#next = null;
    if ((await next).done) throw new Error('a column has too few values');
    [this.part, this.#following] = [this.#following, this.part];
  }

  /** Bytes of the values in loaded rows. */
  size(from: number, to: number): number {
    const { first, starts } = this.part;
    return starts[to - first]! - starts[from - first]!;
  }

  /** Copies the values of loaded rows into a batch, as its column `index`. @param at where @returns the offset after them */
  copy(from: number, to: number, batch: Rows, index: number, at: number): number {
    const { first, out, starts, kinds } = this.part;
    const { width } = batch;
    const [start, end] = [starts[from - first]!, starts[to - first]!];
    batch.bytes.set(out.bytes.subarray(start, end), at);
    for (let row = from - first, cell = index; row < to - first; row++, cell += width) {
      batch.starts[cell] = starts[row]! - start + at;
      batch.ends[cell] = starts[row + 1]! - start + at;
      batch.kinds[cell] = kinds[row]!;
    }
    return at + end - start;
  }

  async *#read(): AsyncGenerator<void, void> {
    const { groups, arrow } = this.file;
    const { name, node } = this.column;
    let isFast = this.file.rows >= LEAST_ROWS && !this.member.spread;
    let before = 0;
    for (const [at, group] of groups.entries()) {
      const rows = Number(group.num_rows);
      if (rows === 0) continue; // its columns may have no pages and no valid offset
      const pages = new ColumnPages(this.file, this.column, group);
      let done = 0;
      if (isFast && this.column.isWhole(group)) {
        for await (const values of arrow.values(name, node.element, at, group)) {
          this.#copy(values, before + done);
          yield;
          done += values.count;
        }
        isFast = done === rows;
      }
      while (done < rows) {
        const { count, value } = await pages.from(done);
        this.#fill(before + done, count, (row) => this.#write(value(row)));
        yield;
        done += count;
      }
      before += rows;
    }
  }

  /** @param first row of the file */
  #copy({ count, isNull, texts, value }: ArrowValues, first: number): void {
    if (texts === null || this.member.missing !== null) {
      this.#fill(first, count, (row) => this.#write(isNull?.(row) ? null : value(row)));
      return;
    }
    const { bytes, view, starts } = texts;
    const part = this.#begin(first, count);
    part.out.reserve(bytes.length);
    part.out.bytes.set(bytes);
    part.out.length = bytes.length;
    part.starts.set(starts);
    part.kinds.fill(PLAIN, 0, count);
    const arePlain = isPlain(view, 0, bytes.length) !== null;
    for (let row = 0; row < count && (isNull !== null || !arePlain); row++) {
      if (isNull?.(row)) part.kinds[row] = ABSENT;
      else if (!arePlain && isPlain(view, starts[row]!, starts[row + 1]!) === null) part.kinds[row] = ESCAPED;
    }
  }

  /** @param first row of the file @param write writes the value of a row, counted from there, and gives its kind */
  #fill(first: number, count: number, write: (row: number) => number): void {
    const { out, starts, kinds, bad } = this.#begin(first, count);
    starts[0] = 0;
    for (let row = 0; row < count; row++) {
      try {
        kinds[row] = write(row);
      } catch (error) {
        const [why, shown] = this.#unfit(error, first + row);
        if (this.member.rejects) bad.set(first + row, why);
        out.write(jsonString(shown));
        kinds[row] = AS_JSON;
      }
      starts[row + 1] = out.length;
    }
  }

  /** Begins the part that follows the loaded one. */
  #begin(first: number, count: number): Part {
    const part = this.#following;
    [part.first, part.end, part.out.length] = [first, first + count, 0];
    part.bad.clear();
    if (part.kinds.length < count) {
      part.starts = new Uint32Array(count + 1);
      part.kinds = new Uint8Array(count);
    }
    return part;
  }

  /** Why a value cannot be sent, and its text. @throws the error of one that cannot be read */
  #unfit(error: unknown, row: number): [reason: string, shown: string] {
    if (!(error instanceof BadValueError)) throw error;
    const { message, shown } = error;
    if (shown !== null) return [`${this.column.name}: ${message}`, shown];
    const hint = 'fix the value, and export the file again';
    throw new InputError(message, { file: this.file.path, line: row + 1, hint });
  }

  #writer(): (raw: unknown) => number {
    const { asText, missing, spread, wide } = this.member;
    const { node, isFlat } = this.column;
    const write = (text: string | null): number => {
      const written = text ?? missing;
      if (written === null) return ABSENT;
      this.#following.out.write(written);
      return AS_JSON;
    };
    if (!isFlat) {
      const read = readerOf(node);
      return (raw) => {
        const value = read(raw);
        return write(value === null ? null : JSON.stringify(value));
      };
    }
    if (spread || isJson(node.element)) return (raw) => write(jsonText(raw, spread));
    const copies = isText(node.element);
    const convert = converterOf(node.element, wide);
    return (raw) => {
      if (raw === undefined) throw new Error(NO_VALUE);
      if (copies && raw !== null && this.#following.out.copyText(raw as Uint8Array)) return PLAIN;
      const value = raw === null ? null : convert(raw);
      const quotes = asText === 'all' || (asText === 'integers' && Number.isSafeInteger(value));
      if (typeof value !== 'string')
        return write(value === null ? null : quotes ? `"${value}"` : String(value));
      this.#following.out.writeJson(value);
      return AS_JSON;
    };
  }
}

const NO_VALUE = 'a value is not in its dictionary';

/** JSON stays as it is in the file: parsed and written again, a number could lose digits. Null for no value. */
function jsonText(raw: unknown, spread: boolean): string | null {
  if (raw === undefined) throw new Error(NO_VALUE);
  if (raw === null) return null;
  const text = textOf(raw as Uint8Array, true);
  try {
    const value: unknown = JSON.parse(text);
    if (!spread || (typeof value === 'object' && value !== null)) return text;
  } catch {} // sent as text, or rejected with the same reason as in other formats
  return jsonString(text);
}
