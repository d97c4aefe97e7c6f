import { deserialize, serialize } from 'node:v8';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { CellLists, type Rows } from '../../../../src/engine/read/rows.js';
import { moved } from '../../../../src/engine/read/workers/task.js';

/** Rows of Parquet, whose texts and places share the memory of the batch. */
function batch(): Rows {
  const memory = new ArrayBuffer(64);
  const cells = [1, 2].map((at) => {
    const [bytes, starts] = [new Uint8Array(memory, 16 * at, 3), new Uint32Array(memory, 16 * at + 4, 3)];
    bytes.set(Buffer.from(`ab${at}`));
    starts.set([0, 2, 3]);
    return { bytes, starts, kinds: at === 1 ? null : Uint8Array.of(0, 6) };
  });
  const lines = Uint32Array.of(1, 2);
  return {
    bytes: new Uint8Array(memory, 0, 0),
    ...new CellLists(0).take(),
    width: 2,
    cells,
    lines,
    first: 0,
  };
}

it.each([
  ['as they are read', batch],
  // Memory of the pool that small arrays share cannot be moved on Node 22.
  ['as they were kept on disk', () => deserialize(serialize(batch())) as Rows],
])('rows go to another thread %s', (_, make) => {
  const { port1, port2 } = new MessageChannel();
  const rows = make();
  const parts = moved(rows);
  for (const { byteLength } of parts) expect(byteLength).not.toBe(Buffer.poolSize);
  port1.postMessage(rows, parts);
  expect(receiveMessageOnPort(port2)!.message).toEqual(batch());
  expect(rows.bytes.buffer.byteLength).toBe(0); // moved, not copied
  port1.close();
});
