/** Tells whether a file is still as it was: by its size and time, and by checksums and a digest of its bytes. */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { InputError } from '../../errors.js';

export interface FileStamp {
  size: number;
  mtimeMs: number;
}

/** A file's bytes as they are on disk. */
export interface DigestedFile {
  /** SHA-256, hexadecimal. */
  digest: string;
  size: number;
  /**
   * CRC-32 of everything read so far, at the end of each block. A later pass with the same marks has read the same
   * bytes, unless someone forged them: what was approved is compared by digests.
   */
  marks: readonly number[];
}

/** Computes digest and size of the bytes of a file, as they are on disk. */
export class ByteTotals {
  readonly #hash = createHash('sha256');
  readonly #marks: number[] = [];
  size = 0;

  /** @param planned marks of the pass that read the planned bytes; these must be the same, and need no digest */
  constructor(private readonly planned?: DigestedFile['marks']) {}

  /** Passes blocks on. @throws InputError before a block, and at the end, where the planned pass read other bytes */
  async *of(blocks: AsyncIterable<Buffer>, path: string): AsyncGenerator<Buffer> {
    for await (const bytes of blocks) {
      this.size += bytes.length;
      const mark = crc32(bytes, this.#marks.at(-1));
      const number = this.#marks.push(mark);
      if (!this.planned) this.#hash.update(bytes);
      else if (this.planned[number - 1] !== mark) throw changedDuringImport(path);
      yield bytes;
    }
    if (this.planned && this.planned.length !== this.#marks.length) throw changedDuringImport(path);
  }

  /** Of the bytes so far. Only of a pass without planned marks. */
  digested(): DigestedFile {
    return { digest: this.#hash.copy().digest('hex'), size: this.size, marks: this.#marks };
  }
}

/** A plan applies to the file as it was planned: later changes have not been checked. */
const changedDuringImport = (path: string): InputError =>
  new InputError('changed while it was being imported', {
    file: path,
    hint: 'import it again when nothing writes to it',
    problem: { code: 'input_changed', path },
  });

/** @param now null for a file that is gone @throws InputError for another stamp than before */
export function checkStamp(path: string, before: FileStamp, now: FileStamp | null): void {
  if (now?.size !== before.size || now.mtimeMs !== before.mtimeMs) throw changedDuringImport(path);
}

/**
 * Refuses a file that changed since it was opened: the import would send some old rows and some new ones.
 * @throws InputError
 */
export async function refuseChanged(file: {
  path: string;
  location: string;
  stamp: FileStamp;
}): Promise<void> {
  // Asked before each request: on a local disk, it takes less than a turn of the event loop.
  let now: FileStamp | null = null;
  try {
    now = statSync(file.location);
  } catch {} // it is gone, or cannot be reached
  checkStamp(file.path, file.stamp, now);
}
