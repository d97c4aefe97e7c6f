/** Reads the bytes of one column chunk in order, in blocks, as they are needed. */
import type { FileHandle } from 'node:fs/promises';
import { roomIn, type Window } from './memory.js';

interface Place {
  handle: FileHandle;
  /** How many bytes to read at a time. */
  blockBytes: number;
  /** Reused by the next chunk. */
  memory: Window;
  /** Shared by all columns, for larger reads and only until `settle`. Null if pages are used where they were read. */
  large: Window | null;
}

export class ChunkBytes {
  readonly #place: Place;
  #window: Buffer<ArrayBuffer> = Buffer.alloc(0);
  /** Offsets in the file: where the window begins, and where the chunk ends. */
  #start: number;
  readonly #end: number;
  /** Offset in the window of the first byte that has not been consumed. */
  #at = 0;

  constructor(place: Place, start: number, end: number) {
    this.#place = place;
    this.#start = start;
    this.#end = end;
  }

  /** The unconsumed bytes: at least `bytes`, or all that are left of the chunk. Valid until the next call. */
  async atLeast(bytes: number): Promise<Buffer> {
    const have = this.#window.length - this.#at;
    const from = this.#start + this.#window.length;
    const more =
      have >= bytes ? 0 : Math.min(Math.max(bytes - have, this.#place.blockBytes), this.#end - from);
    if (more > 0) await this.#read(have, more);
    return this.#window.subarray(this.#at);
  }

  pass(bytes: number): void {
    this.#at += bytes;
  }

  /** Call this when consumed bytes are no longer needed: another column may then read into the shared memory. */
  settle(): void {
    const { memory, large } = this.#place;
    if (this.#window.buffer !== large?.window.buffer) return;
    const rest = this.#window.subarray(this.#at);
    this.#start += this.#at;
    this.#at = 0;
    this.#window = roomIn(memory, rest.length);
    rest.copy(this.#window);
  }

  /** Moves the `have` unconsumed bytes to the front of the window, and reads `more` bytes after them. */
  async #read(have: number, more: number): Promise<void> {
    const { handle, blockBytes, memory, large } = this.#place;
    const from = this.#start + this.#window.length;
    const window = roomIn(have + more > 2 * blockBytes && large !== null ? large : memory, have + more);
    this.#window.copy(window, 0, this.#at);
    for (let at = have; at < window.length; ) {
      const { bytesRead } = await handle.read(window, at, window.length - at, from + at - have);
      if (bytesRead === 0) throw new Error('the file is cut off');
      at += bytesRead;
    }
    this.#start += this.#at;
    this.#at = 0;
    this.#window = window;
  }
}
