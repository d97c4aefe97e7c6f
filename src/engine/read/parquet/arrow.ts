/**
 * Columns as parquet-wasm decodes them, in a thread. hyparquet makes an object of each text, which takes ten times as long
 * and as much memory.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { RowGroup, SchemaElement } from 'hyparquet';
import { viewOf } from '../text/bytes.js';
import { isText, meaningOf } from './values.js';

/** What the thread decodes next: rows of a column in a row group. */
export interface Wanted {
  column: string;
  group: number;
  /** How many rows the group has, and how many of them to decode at a time. */
  rows: number;
  limit: number;
  /** Names of the forms in which Arrow has values as they are in the file. */
  name: RegExp;
  /** Bytes of a value; null for texts. */
  width: number | null;
}

/** The values of some rows. */
export interface Pieces {
  count: number;
  /** A bit for each row that has a value, or null if all have; the values; for texts, where each begins, and the texts. */
  memory: (ArrayBuffer | null)[];
}

export interface ArrowValues {
  count: number;
  /** Null if there is a value in each row. */
  isNull: ((row: number) => boolean) | null;
  /** As in the file. A text is its bytes. */
  value(row: number): unknown;
  /** Texts, which are valid UTF-8: where each one begins, and where the last one ends. Null for other values. */
  texts: { bytes: Uint8Array; view: DataView; starts: Int32Array } | null;
}

type Read = (first: ArrayBuffer) => ArrowValues['value'];
interface Form extends Pick<Wanted, 'name' | 'width'> {
  read: Read;
}

const numbers =
  (Numbers: typeof Int32Array | typeof Float32Array | typeof Float64Array): Read =>
  (memory) => {
    const values = new Numbers(memory);
    return (row) => values[row]!;
  };

/** A number is made many times as fast as a bigint. */
const integers: Read = (memory) => {
  const [halves, wholes] = [new Int32Array(memory), new BigInt64Array(memory)];
  return (row) => {
    const number = halves[2 * row + 1]! * 2 ** 32 + (halves[2 * row]! >>> 0);
    return Number.isSafeInteger(number) ? number : wholes[row]!;
  };
};

const bits = (memory: ArrayBuffer): ((row: number) => boolean) => {
  const bytes = new Uint8Array(memory);
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
const MOST_ROWS = 1 << 17;
const MOST_BYTES = 64 * 1024 * 1024;

/** Next to the bundle that contains this module. Missing if the sources are run directly. */
const WORKER = new URL('./arrow-worker.cjs', import.meta.url);

/** A file for the thread, which starts with the first values. */
export class ArrowFile {
  #worker: Worker | null = null;
  #isAtWork: boolean;
  #answer: (pieces: Pieces | null) => void = () => {};

  /** @param file its descriptor and size */
  constructor(
    private readonly file: { fd: number; size: number },
    private readonly script = WORKER,
  ) {
    this.#isAtWork = existsSync(fileURLToPath(script));
  }

  /**
   * The values of a column in a row group, some rows at a time. They end before the last rows if the library cannot read
   * them, or has them in another form: then hyparquet reads them, or says what is wrong with them.
   */
  async *values(
    column: string,
    element: SchemaElement,
    group: number,
    { num_rows, total_byte_size }: Pick<RowGroup, 'num_rows' | 'total_byte_size'>,
  ): AsyncGenerator<ArrowValues, void> {
    const form = formOf(element);
    if (form === null) return;
    const { name, width } = form;
    const [rows, bytes] = [Number(num_rows), Number(total_byte_size)];
    const limit = Math.ceil(Math.min(MOST_ROWS, bytes > 0 ? (rows * MOST_BYTES) / bytes : MOST_ROWS));
    for (;;) {
      const pieces = await this.#ask({ column, group, rows, limit, name, width });
      if (pieces === null) return;
      const { count, memory } = pieces;
      const [filled, first, second] = memory;
      const hasValue = filled ? bits(filled) : null;
      const isNull = hasValue && ((row: number) => !hasValue(row));
      if ('read' in form) yield { count, isNull, value: form.read(first!), texts: null };
      else {
        const [starts, bytes] = [new Int32Array(first!), new Uint8Array(second!)];
        const value = (row: number): Uint8Array => bytes.subarray(starts[row], starts[row + 1]);
        yield { count, isNull, value, texts: { bytes, view: viewOf(bytes), starts } };
      }
    }
  }

  async close(): Promise<void> {
    this.#end();
    await this.#worker?.terminate();
  }

  /** One at a time. */
  #ask(wanted: Wanted): Promise<Pieces | null> {
    return new Promise((resolve) => {
      this.#answer = resolve;
      if (!this.#isAtWork) return resolve(null);
      try {
        this.#worker ??= this.#start();
        this.#worker.postMessage(wanted);
      } catch {
        this.#end(); // the system has no more threads
      }
    });
  }

  #start(): Worker {
    // What the library says of its errors is for its developers.
    return new Worker(this.script, { workerData: this.file, stderr: true })
      .on('message', (pieces) => this.#answer(pieces))
      .on('error', () => this.#end())
      .on('exit', () => this.#end());
  }

  #end(): void {
    this.#isAtWork = false;
    this.#answer(null);
  }
}
