/** Memory that the pages of a column are read and unpacked in. */

/** Bytes of the file. */
export interface Window {
  window: Buffer<ArrayBuffer>;
}

/** Somewhat more than is asked for: pages of a column are about as large as each other. */
const withSlack = (bytes: number): number => bytes + (bytes >>> 5);

/** What was in it has no meaning. */
export function roomIn(memory: Window, bytes: number): Buffer<ArrayBuffer> {
  if (memory.window.length < bytes) memory.window = Buffer.allocUnsafeSlow(withSlack(bytes));
  return memory.window.subarray(0, bytes);
}

type Use = 'unpacked' | 'definition' | 'repetition' | 'indices' | 'numbers';

/** Used again for page after page and row group after row group: what is left to the garbage collector lies around for long. */
export class PageMemory implements Window {
  window: Buffer<ArrayBuffer> = Buffer.alloc(0);
  readonly #rooms = new Map<string, ArrayBuffer>();

  /** @param large shared by columns that are read in turns */
  constructor(readonly large: Window = { window: Buffer.alloc(0) }) {}

  /** For one use; what it was used for before may still be there. */
  room(use: Use, bytes: number): ArrayBuffer {
    let room = this.#rooms.get(use);
    if (room === undefined || room.byteLength < bytes) {
      room = new ArrayBuffer(withSlack(bytes));
      this.#rooms.set(use, room);
    }
    return room;
  }
}
