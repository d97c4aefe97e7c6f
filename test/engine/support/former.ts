/** What version 0.1.0 remembered of items: SHA-256 over domain, key and text, its first eight bytes. */
import { createHash } from 'node:crypto';
import { type ItemBatch, itemIn } from '../../../src/engine/read/index.js';

/** The hashes of a batch as they would have been. */
export const formerContents = (batch: ItemBatch, key: Uint8Array): BigUint64Array<ArrayBuffer> =>
  BigUint64Array.from(batch.ends, (_, at) =>
    createHash('sha256')
      .update(`item:${Buffer.from(key).toString('hex')}:`)
      .update(itemIn(batch, at))
      .digest()
      .readBigUInt64LE(),
  );
