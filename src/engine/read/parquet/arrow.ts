/**
 * Columns as parquet-wasm decodes them, in a thread. hyparquet makes an object of each text, which takes ten times as long
 * and as much memory.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { SchemaElement } from 'hyparquet';
import { textMemory } from '../text/memory.js';
import { type ParquetFile, stepOf } from './file.js';
import { isText, meaningOf } from './values.js';

/** A column that the thread decodes. */
export interface Wanted {
  column: string;
  /** Names of the forms in which Arrow has values as they are in the file. */
  name: RegExp;
  /** Bytes of a value; null for texts. */
  width: number | null;
}

/** What the thread decodes of a row group. */
export interface ArrowGroup {
  /** Its number. */
  group: number;
  rows: number;
  /** How many rows to give at a time. */
  step: number;
  /** How many rows to decode at a time, a multiple of that. */
  limit: number;
  /** Null for those that hyparquet decodes. */
  columns: (Wanted | null)[];
}

/** What the thread does: the file, its groups in order, and how many steps to be ahead. */
export interface Orders {
  fd: number;
  size: number;
  groups: ArrowGroup[];
  ahead: number;
}

/** A piece of memory. */
export interface Part {
  start: number;
  bytes: number;
}

/** The values of the next rows. */
export interface Sent {
  memory: ArrayBuffer;
  /**
   * By column: a bit for each row that has a value, or null if all have; the values; for texts, where each begins, and the
   * texts. Null for columns that hyparquet must read.
   */
  columns: ((Part | null)[] | null)[];
}

export interface ArrowValues {
  /** Null if there is a value in each row. */
  isNull: ((row: number) => boolean) | null;
  /** As in the file. A text is its bytes. */
  value(row: number): unknown;
  /** Texts, which are valid UTF-8: where each one begins, and where the last one ends. Null for other values. */
  texts: { bytes: Uint8Array<ArrayBuffer>; starts: Uint32Array<ArrayBuffer> } | null;
}

/** The values of the next rows by column. */
export interface ArrowStep {
  /** Their memory. */
  memory: ArrayBuffer;
  columns: readonly (ArrowValues | null)[];
}

type Read = (memory: ArrayBuffer, part: Part) => ArrowValues['value'];
interface Form extends Pick<Wanted, 'name' | 'width'> {
  read: Read;
}

const numbers =
  (Numbers: typeof Int32Array | typeof Float32Array | typeof Float64Array): Read =>
  (memory, { start, bytes }) => {
    const values = new Numbers(memory, start, bytes / Numbers.BYTES_PER_ELEMENT);
    return (row) => values[row]!;
  };

/** A number is made many times as fast as a bigint. */
const integers: Read = (memory, { start, bytes }) => {
  const halves = new Int32Array(memory, start, bytes / 4);
  const wholes = new BigInt64Array(memory, start, bytes / 8);
  return (row) => {
    const number = halves[2 * row + 1]! * 2 ** 32 + (halves[2 * row]! >>> 0);
    return Number.isSafeInteger(number) ? number : wholes[row]!;
  };
};

const bits = (memory: ArrayBuffer, part: Part): ((row: number) => boolean) => {
  const bytes = new Uint8Array(memory, part.start, part.bytes);
  return (row) => (bytes[row >> 3]! & (1 << (row & 7))) !== 0;
};

/** By physical type. */
const FORMS: Readonly<Record<string, Form>> = {
  BOOLEAN: { name: /^b$/, width: 1 / 8, read: bits },
  INT32: { name: /^(i|I|tdD|ttm)$/, width: 4, read: numbers(Int32Array) },
  INT64: { name: /^(l|L|tt[un])$/, width: 8, read: integers },
  FLOAT: { name: /^f$/, width: 4, read: numbers(Float32Array) },
  DOUBLE: { name: /^g$/, width: 8, read: numbers(Float64Array) },
};
const TEXT = { name: /^u$/, width: null };
const UNITS = { MILLIS: 'm', MICROS: 'u', NANOS: 'n' };

/** The form of a column's values; null if Arrow has them in another one. */
export function formOf(element: SchemaElement): Form | typeof TEXT | null {
  const meaning = meaningOf(element);
  if (element.type === 'BYTE_ARRAY') return meaning && isText(element) ? TEXT : null;
  const form = FORMS[element.type ?? ''] ?? null;
  if (form === null || meaning?.type !== 'TIMESTAMP') return form;
  return { ...form, name: new RegExp(`^ts${UNITS[meaning.unit]}:`) };
}

/** How many rows to decode at a time, at most, and how many bytes of all columns: the library keeps what it has decoded. */
const MOST_ROWS = 1 << 18;
const MOST_BYTES = 128 * 1024 * 1024;
/** While the thread decodes the next columns, there is work for the others. */
const AHEAD = 8;

/** Next to the bundle that contains this module. Missing if the sources are run directly. */
const WORKER = new URL('./arrow-worker.cjs', import.meta.url);

/** The columns of a file that the thread decodes. It starts with the first values. */
export class ArrowColumns {
  readonly #orders: Orders;
  /** By column; null for those that hyparquet reads. */
  readonly #forms: (Form | typeof TEXT | null)[];
  #worker: Worker | null = null;
  #isAtWork: boolean;
  /** What it has sent, one step after another. */
  readonly #sent: Sent[] = [];
  #arrived: () => void = () => {};

  constructor(
    { fd, size, groups, columns }: Pick<ParquetFile, 'fd' | 'size' | 'groups' | 'columns'>,
    isWanted: (column: number) => boolean,
    private readonly script = WORKER,
  ) {
    this.#forms = columns.map(({ isFlat, node }, at) =>
      isFlat && isWanted(at) ? formOf(node.element) : null,
    );
    const ordered = groups.map((group, at): ArrowGroup => {
      const [rows, step, bytes] = [Number(group.num_rows), stepOf(group), Number(group.total_byte_size)];
      const most = Math.min(MOST_ROWS, bytes > 0 ? (rows * MOST_BYTES) / bytes : MOST_ROWS);
      // hyparquet says what is wrong with the others.
      const wanted = columns.map((column, index): Wanted | null => {
        const form = this.#forms[index];
        return form && column.isWhole(group) && !column.isMisread(group)
          ? { column: column.name, name: form.name, width: form.width }
          : null;
      });
      return { group: at, rows, step, limit: step * Math.ceil(most / step), columns: wanted };
    });
    this.#orders = { fd, size, groups: ordered, ahead: AHEAD };
    this.#isAtWork = this.#forms.some((form) => form !== null) && existsSync(fileURLToPath(script));
  }

  /**
   * The values of the next rows. Null where the library cannot read them, or has them in another form: then
   * hyparquet reads these and those after them in the row group, or says what is wrong with them.
   */
  async next(): Promise<ArrowStep> {
    if (this.#isAtWork) this.#worker ??= this.#start();
    if (this.#isAtWork && this.#sent.length === 0)
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    const sent = this.#sent.shift();
    if (this.#isAtWork) {
      const spare = textMemory.pop() ?? null;
      this.#worker!.postMessage(spare, spare ? [spare] : []);
    }
    const columns = this.#forms.map((form, column) => {
      const parts = sent?.columns[column];
      return parts && form ? valuesOf(sent.memory, parts, form) : null;
    });
    return { memory: sent?.memory ?? new ArrayBuffer(0), columns };
  }

  async close(): Promise<void> {
    this.#end();
    await this.#worker?.terminate();
  }

  #start(): Worker | null {
    try {
      // What the library says of its errors is for its developers.
      return new Worker(this.script, { workerData: this.#orders, stderr: true })
        .on('message', (sent: Sent) => {
          // An error may come before the steps that were sent before it. hyparquet reads their rows by now.
          if (!this.#isAtWork) return;
          this.#sent.push(sent);
          this.#arrived();
        })
        .on('messageerror', () => this.#end())
        .on('error', () => this.#end())
        .on('exit', () => this.#end());
    } catch {
      this.#end(); // the system has no more threads
      return null;
    }
  }

  #end(): void {
    this.#isAtWork = false;
    this.#arrived();
  }
}

function valuesOf(
  memory: ArrayBuffer,
  [filled, first, second]: readonly (Part | null)[],
  form: Form | typeof TEXT,
): ArrowValues {
  const hasValue = filled ? bits(memory, filled) : null;
  const isNull = hasValue && ((row: number) => !hasValue(row));
  if ('read' in form) return { isNull, value: form.read(memory, first!), texts: null };
  const starts = new Uint32Array(memory, first!.start, first!.bytes / 4);
  const bytes = new Uint8Array(memory, second!.start, second!.bytes);
  return { isNull, value: (row) => bytes.subarray(starts[row], starts[row + 1]), texts: { bytes, starts } };
}
