/**
 * The thread in which parquet-wasm decodes columns. It gives the values of some rows of all columns at a time, as Arrow has
 * them in memory (its C data interface). A damaged file may end the thread: the library does not throw all of its errors.
 */
import { readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { ParquetFile, wasmMemory } from 'parquet-wasm';
import { textMemory } from '../text/memory.js';
import type { ArrowGroup, Orders, Part, Sent, Wanted } from './arrow.js';

/** Where structures of Arrow have their members, in memory with addresses of 32 bits. */
const SCHEMA = { name: 0, children: 32 };
const ARRAY = { count: 0, offset: 16, childCount: 32, pieces: 40, children: 44, dictionary: 48 };

/** Values of a column, which are in the library's memory until the next ones are asked for. */
interface Found {
  count: number;
  parts: (Part | null)[];
}

const { fd, size, groups, ahead } = workerData as Orders;
// The library uses nothing else of a blob. Those that Node makes of files are read twice as slowly.
const file = ParquetFile.fromFile({ size, slice: sliceOf } as unknown as Blob);

/** How many steps may be sent before one of them is taken. */
let allowed = ahead;
let proceed: () => void = () => {};
parentPort!.on('message', (spare: ArrayBuffer | null) => {
  if (spare) textMemory.give(spare);
  allowed++;
  proceed();
});
void decodeAll().then(() => parentPort!.close());

async function decodeAll(): Promise<void> {
  /** Columns whose values the library could not read, or has in another form. */
  const unread = new Set<number>();
  for (const group of groups) {
    const columns = group.columns.map((wanted, at) =>
      wanted === null || unread.has(at) ? null : foundIn(wanted, group),
    );
    for (let row = 0; row < group.rows; row += group.step) {
      const count = Math.min(group.step, group.rows - row);
      while (allowed === 0) await new Promise<void>((resolve) => (proceed = resolve));
      allowed--;
      const step: (Found | null)[] = [];
      for (const [at, column] of columns.entries()) {
        const next = column === null || unread.has(at) ? null : await column.next().catch(() => null);
        const found = next?.value?.count === count ? next.value : null;
        if (column !== null && found === null) unread.add(at);
        step.push(found);
      }
      send(step);
    }
    for (const column of columns) await column?.return(undefined);
  }
}

/** Copies the values of a step into one piece of memory. */
function send(step: readonly (Found | null)[]): void {
  let length = 0;
  const place = (part: Part | null): Part | null => {
    if (part === null) return null;
    const start = length;
    length += Math.ceil(part.bytes / 8) * 8;
    return { start, bytes: part.bytes };
  };
  const columns = step.map((found) => found?.parts.map(place) ?? null);
  const memory = textMemory.take(length);
  const from = wasmMemory().buffer;
  for (const [at, found] of step.entries()) {
    for (const [index, part] of found?.parts.entries() ?? [])
      if (part !== null) memory.set(new Uint8Array(from, part.start, part.bytes), columns[at]![index]!.start);
  }
  const sent: Sent = { memory: memory.buffer, columns };
  parentPort!.postMessage(sent, [memory.buffer]);
}

function sliceOf(start: number, end: number) {
  const arrayBuffer = async (): Promise<ArrayBuffer> => {
    const bytes = new Uint8Array(end - start);
    if (readSync(fd, bytes, 0, bytes.length, start) < bytes.length) throw new Error('it is cut off');
    return bytes.buffer;
  };
  return { size: end - start, arrayBuffer };
}

/** The values of a column in a row group, `step` rows at a time. It ends at values of another form. */
async function* foundIn(
  wanted: Wanted,
  { group, rows, step, limit }: ArrowGroup,
): AsyncGenerator<Found, undefined> {
  for (let offset = 0; offset < rows; offset += limit) {
    const range = { columns: [wanted.column], rowGroups: [group], offset, limit, batchSize: step };
    const table = await (await file).read(range);
    try {
      for (let at = 0; at < table.numBatches; at++) {
        const batch = table.recordBatch(at)!.intoFFI();
        try {
          const found = foundAt(batch.schemaAddr(), batch.arrayAddr(), wanted);
          if (found === null) return;
          yield found;
        } finally {
          batch.free();
        }
      }
    } finally {
      table.free();
    }
  }
}

/** The values of a batch with one column. Null if they have another form. */
function foundAt(schema: number, array: number, { name: form, width }: Wanted): Found | null {
  const memory = wasmMemory().buffer;
  const view = new DataView(memory);
  const pointer = (at: number): number => view.getUint32(at, true);
  const integer = (at: number): number => Number(view.getBigInt64(at, true));
  if (integer(array + ARRAY.childCount) !== 1) return null;
  const child = pointer(pointer(array + ARRAY.children));
  const text = pointer(pointer(pointer(schema + SCHEMA.children)) + SCHEMA.name);
  const [name] = Buffer.from(memory, text, 16).toString('latin1').split('\0');
  const isPart = integer(array + ARRAY.offset) !== 0 || integer(child + ARRAY.offset) !== 0;
  if (!form.test(name!) || isPart || pointer(child + ARRAY.dictionary) !== 0) return null;
  const count = integer(child + ARRAY.count);
  const [filled, first, second] = [0, 4, 8].map((at) => pointer(pointer(child + ARRAY.pieces) + at));
  const bitmap = filled === 0 ? null : { start: filled!, bytes: Math.ceil(count / 8) };
  if (width !== null) return { count, parts: [bitmap, { start: first!, bytes: Math.ceil(count * width) }] };
  const texts = { start: second!, bytes: view.getInt32(first! + 4 * count, true) };
  return { count, parts: [bitmap, { start: first!, bytes: 4 * (count + 1) }, texts] };
}
