/** Keyed 64-bit hashes of identifiers and items: SHA-256 over key and text, its first eight bytes. */
import { hash } from 'node:crypto';

/** Collects hashes, one call for each text. */
export class Hashes {
  readonly #prefix: string;
  #hex: string[] = [];

  /** `domain` keeps hashes of different things apart. */
  constructor(key: Uint8Array, domain: 'id' | 'item') {
    this.#prefix = `${domain}:${Buffer.from(key).toString('hex')}:`;
  }

  add(text: string): void {
    this.#hex.push(hash('sha256', this.#prefix + text, 'hex').slice(0, 16));
  }

  /** The hashes in the order of their texts; the collection is empty afterwards. */
  take(): BigUint64Array<ArrayBuffer> {
    const hashes = new BigUint64Array(this.#hex.length);
    Buffer.from(hashes.buffer).write(this.#hex.join(''), 'hex');
    this.#hex = [];
    return hashes;
  }
}

/** Hashes of identifiers outside any file, as items of a file have them. */
export function idHashes(key: Uint8Array, ids: readonly string[]): BigUint64Array<ArrayBuffer> {
  const hashes = new Hashes(key, 'id');
  for (const id of ids) hashes.add(id);
  return hashes.take();
}
