/**
 * The thread in which parquet-wasm decodes columns. It gives the values of many rows in one piece of memory, as Arrow has
 * them (its C data interface). A damaged file may end the thread: the library does not throw all of its errors.
 */
import { readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { ParquetFile, wasmMemory } from 'parquet-wasm';
import type { Pieces, Wanted } from './arrow.js';

/** How many rows to give at a time. */
const STEP_ROWS = 1 << 14;
/** Where structures of Arrow have their members, in memory with addresses of 32 bits. */
const SCHEMA = { name: 0, children: 32 };
const ARRAY = { count: 0, offset: 16, childCount: 32, pieces: 40, children: 44, dictionary: 48 };

/** By column, the row group that was asked for last, and its rows that follow those that were sent. */
const following = new Map<
  string,
  { group: number; rest: AsyncGenerator<Pieces>; next: Promise<Pieces | null> }
>();
const { fd, size } = workerData as { fd: number; size: number };
// The library uses nothing else of a blob. Those that Node makes of files are read twice as slowly.
const file = ParquetFile.fromFile({ size, slice: sliceOf } as unknown as Blob);

parentPort!.on('message', async (wanted: Wanted) => {
  const { column, group } = wanted;
  const known = following.get(column);
  const rest = known?.group === group ? known.rest : piecesOf(wanted);
  const pieces = await (known?.group === group ? known.next : decode(rest));
  following.set(column, { group, rest, next: pieces === null ? Promise.resolve(null) : decode(rest) });
  parentPort!.postMessage(pieces, pieces?.memory.filter((memory) => memory !== null) ?? []);
});

/** Null after the last rows, and if they cannot be read. */
const decode = (rest: AsyncGenerator<Pieces>): Promise<Pieces | null> =>
  rest.next().then(
    ({ value }) => value ?? null,
    () => null,
  );

function sliceOf(start: number, end: number) {
  const arrayBuffer = async (): Promise<ArrayBuffer> => {
    const bytes = new Uint8Array(end - start);
    if (readSync(fd, bytes, 0, bytes.length, start) < bytes.length) throw new Error('it is cut off');
    return bytes.buffer;
  };
  return { size: end - start, arrayBuffer };
}

/** It ends at values of another form, and if there are fewer than were asked for. */
async function* piecesOf(wanted: Wanted): AsyncGenerator<Pieces> {
  const { column, group, rows, limit } = wanted;
  for (let end = 0, count = 0; count === end && end < rows; ) {
    const range = { columns: [column], rowGroups: [group], offset: end, limit, batchSize: STEP_ROWS };
    const table = await (await file).read(range);
    end = Math.min(end + limit, rows);
    for (let at = 0; at < table.numBatches; at++) {
      const batch = table.recordBatch(at)!.intoFFI();
      const pieces = piecesAt(batch.schemaAddr(), batch.arrayAddr(), wanted);
      batch.free();
      if (pieces === null) return;
      count += pieces.count;
      yield pieces;
    }
    table.free();
  }
}

/** Copies the values of a batch with one column. Null if they have another form. */
function piecesAt(schema: number, array: number, { name: form, width }: Wanted): Pieces | null {
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
