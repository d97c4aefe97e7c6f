/**
 * The thread in which parquet-wasm decodes columns. It gives the values of many rows in one piece of memory, as Arrow has
 * them (its C data interface). A damaged file may end the thread: the library does not throw all of its errors.
 */
import { fstatSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { ParquetFile, type RecordBatch, wasmMemory } from 'parquet-wasm';
import type { Pieces, Wanted } from './arrow.js';

/** How many rows to give at a time. */
const STEP_ROWS = 1 << 14;
/** How much of the file to decode at a time, of all columns: the library keeps all that it has decoded. */
const STEP_BYTES = 64 * 1024 * 1024;
/** Where structures of Arrow have their members, in memory with addresses of 32 bits. */
const SCHEMA = { name: 0, children: 32 };
const ARRAY = { count: 0, offset: 16, childCount: 32, pieces: 40, children: 44, dictionary: 48 };

type Next = Promise<Pieces | null>;

/** Of each column, the rows that follow those that were sent. */
const following = new Map<string, { next: Next; step(): Next }>();
const file = opened(workerData as string);

parentPort!.on('message', async (wanted: Wanted) => {
  let column = following.get(wanted.column);
  if (column === undefined) {
    const step = stepper(wanted);
    column = { next: step(), step };
    following.set(wanted.column, column);
  }
  const pieces = await column.next;
  column.next = pieces === null ? column.next : column.step();
  parentPort!.postMessage(pieces, pieces?.memory.filter((memory) => memory !== null) ?? []);
});

/** The library uses nothing else of a blob. Those that Node makes of files are read twice as slowly. */
async function opened(path: string): Promise<ParquetFile> {
  const handle = openSync(path, 'r'); // closed when the thread ends
  const slice = (start: number, end: number) => ({
    size: end - start,
    async arrayBuffer(): Promise<ArrayBuffer> {
      const bytes = new Uint8Array(end - start);
      if (readSync(handle, bytes, 0, bytes.length, start) < bytes.length) throw new Error('it is cut off');
      return bytes.buffer;
    },
  });
  return ParquetFile.fromFile({ size: fstatSync(handle).size, slice } as unknown as Blob);
}

/** Returns the function that decodes the next rows of a column. Null after the last ones, and if they cannot be read. */
function stepper({ column, name, width }: Wanted): () => Next {
  const batches = batchesOf(column);
  return async () => {
    try {
      const batch = (await batches.next()).value?.intoFFI();
      if (batch === undefined) return null;
      try {
        return piecesAt(batch.schemaAddr(), batch.arrayAddr(), name, width);
      } finally {
        batch.free();
      }
    } catch {
      return null;
    }
  };
}

async function* batchesOf(column: string): AsyncGenerator<RecordBatch, undefined> {
  const opened = await file;
  for (const part of partsOf(opened)) {
    const table = await opened.read({ columns: [column], batchSize: STEP_ROWS, ...part });
    for (let batch = 0; batch < table.numBatches; batch++) yield table.recordBatch(batch)!;
    table.free();
  }
}

/** What to decode at a time: some row groups, or a part of one. */
function partsOf(opened: ParquetFile): { rowGroups: number[]; offset?: number; limit?: number }[] {
  const groups = opened.metadata().rowGroups();
  return groups.flatMap((group, at) => {
    const [rows, bytes] = [group.numRows(), group.totalByteSize()];
    const limit = Math.ceil(rows / Math.ceil(bytes / STEP_BYTES));
    const count = Math.ceil(rows / limit);
    return Array.from({ length: count }, (_, part) => ({ rowGroups: [at], offset: part * limit, limit }));
  });
}

/** Copies the values of a batch with one column. Null if they have another form. */
function piecesAt(schema: number, array: number, form: RegExp, width: number | null): Pieces | null {
  const memory = wasmMemory().buffer as ArrayBuffer;
  const view = new DataView(memory);
  const pointer = (at: number): number => view.getUint32(at, true);
  const integer = (at: number): number => Number(view.getBigInt64(at, true));
  const copy = (place: number, bytes: number): ArrayBuffer => memory.slice(place, place + bytes);
  if (integer(array + ARRAY.childCount) !== 1) return null;
  const child = pointer(pointer(array + ARRAY.children));
  const text = pointer(pointer(pointer(schema + SCHEMA.children)) + SCHEMA.name);
  const [name] = Buffer.from(memory, text, 16).toString('latin1').split('\0');
  const isPart = integer(array + ARRAY.offset) !== 0 || integer(child + ARRAY.offset) !== 0;
  if (!form.test(name!) || isPart || pointer(child + ARRAY.dictionary) !== 0) return null;
  const count = integer(child + ARRAY.count);
  const [filled, first, second] = [0, 4, 8].map((at) => pointer(pointer(child + ARRAY.pieces) + at));
  const values =
    width === null
      ? [copy(first!, 4 * (count + 1)), copy(second!, view.getInt32(first! + 4 * count, true))]
      : [copy(first!, Math.ceil(count * width))];
  return { count, memory: [filled === 0 ? null : copy(filled!, Math.ceil(count / 8)), ...values] };
}
