/** The bytes of one column chunk, one after another: read in blocks, as far as they are asked for. */
import type { FileHandle } from 'node:fs/promises';
import { roomIn, type Window } from './memory.js';

interface Place {
  handle: FileHandle;
  /** Bytes that are read at once. */
  blockBytes: number;
  /** Used again by the next chunk. */
  memory: Window;
  /** For what is larger, and only until `settle`: all columns share it. Null where pages stay where they were read. */
  large: Window | null;
}

export class ChunkBytes {
  readonly #place: Place;
  #window: Buffer<ArrayBuffer> = Buffer.alloc(0);
  /** In the file: where the window begins, and where the chunk ends. */
  #start: number;
  readonly #end: number;
  /** In the window: the first byte that was not passed. */
  #at = 0;

  constructor(place: Place, start: number, end: number) {
    this.#place = place;
    this.#start = start;
    this.#end = end;
  }

  /** What was not passed: so many bytes or more, or else all that are left of the chunk. Valid until the next call. */
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

  /** What was passed is not looked at any more: another column may read into the memory that they share. */
  settle(): void {
    const { memory, large } = this.#place;
    if (this.#window.buffer !== large?.window.buffer) return;
    const rest = this.#window.subarray(this.#at);
    this.#start += this.#at;
    this.#at = 0;
    this.#window = roomIn(memory, rest.length);
    rest.copy(this.#window);
  }

  /** Moves what was not passed to the front of the window, and reads so many bytes behind it. */
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
