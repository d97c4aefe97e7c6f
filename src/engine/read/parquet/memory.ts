/** Memory for reading and unpacking the pages of a column. */

/** Memory for bytes of the file. */
export interface Window {
  window: Buffer<ArrayBuffer>;
}

/** Slightly more than requested: the pages of a column differ little in size. */
const withSlack = (bytes: number): number => bytes + (bytes >>> 5);

/** Its contents are undefined. */
export function roomIn(memory: Window, bytes: number): Buffer<ArrayBuffer> {
  if (memory.window.length < bytes) memory.window = Buffer.allocUnsafeSlow(withSlack(bytes));
  return memory.window.subarray(0, bytes);
}

type Use = 'unpacked' | 'definition' | 'repetition' | 'indices' | 'numbers';

/** Reused from page to page and from row group to row group: the garbage collector would free it late. */
export class PageMemory implements Window {
  window: Buffer<ArrayBuffer> = Buffer.alloc(0);
  readonly #rooms = new Map<string, ArrayBuffer>();

  /** @param large shared by columns that are read in turn */
  constructor(readonly large: Window = { window: Buffer.alloc(0) }) {}

  /** Memory for one use. Bytes of the last use may still be in it. */
  room(use: Use, bytes: number): ArrayBuffer {
    let room = this.#rooms.get(use);
    if (room === undefined || room.byteLength < bytes) {
      room = new ArrayBuffer(withSlack(bytes));
      this.#rooms.set(use, room);
    }
    return room;
  }
}
