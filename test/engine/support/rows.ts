/** Rows as the input hands them over, made by hand. */

import type { RequestRecord } from '../../../src/engine/model/requests.js';
import type { ItemBatch } from '../../../src/engine/read/index.js';
import { UNTRIED } from '../../../src/engine/send/request-record.js';

export interface Row {
  id: string;
  /** JSON text of its metadata. */
  metadata?: string;
  /** Rejected by the plan: no item, but its number is taken. */
  rejected?: boolean;
}

/** A hash that tells ids apart and can be read in a failure. */
export const idHash = (id: string): bigint =>
  [...Buffer.from(id).subarray(-8)].reduce(
    (hash, byte) => ((hash << 8n) | BigInt(byte)) & 0xffff_ffff_ffff_ffffn,
    1n,
  );

export const itemOf = ({ id, metadata }: Row): string =>
  metadata === undefined
    ? `{"company_id":${JSON.stringify(id)}}`
    : `{"company_id":${JSON.stringify(id)},"metadata":${metadata}}`;

/** Rows in batches of `size`; the row at index n stands on line n + 2, as below a header. */
export async function* batchesOf(rows: readonly Row[], size = 1_000): AsyncGenerator<ItemBatch> {
  for (let first = 0; first < rows.length; first += size) {
    const here = rows.slice(first, first + size).map((row, i) => ({ row, ordinal: first + i }));
    const kept = here.filter(({ row }) => !row.rejected);
    const texts = kept.map(({ row }) => Buffer.from(`${itemOf(row)},`));
    let end = 0;
    yield {
      items: Uint8Array.from(Buffer.concat(texts)),
      ends: Uint32Array.from(texts, (text) => {
        end += text.length;
        return end;
      }),
      lines: Uint32Array.from(kept, ({ ordinal }) => ordinal + 2),
      rows: Float64Array.from(kept, ({ ordinal }) => ordinal),
      ids: BigUint64Array.from(kept, ({ row }) => idHash(row.id)),
      contents: BigUint64Array.from(kept, ({ row }) => idHash(itemOf(row))),
      read: here.length,
      rejected: [],
    };
  }
}

/** Ids that stand more than once, as the plan knows them. */
export function duplicatesOf(rows: readonly Row[]): { count: number; repeated: Set<bigint> } {
  const seen = new Set<bigint>();
  const repeated = new Set<bigint>();
  let count = 0;
  for (const { id, rejected } of rows) {
    if (rejected) continue;
    const hash = idHash(id);
    if (seen.has(hash)) {
      repeated.add(hash);
      count++;
    }
    seen.add(hash);
  }
  return { count, repeated };
}

/** A request as an earlier session recorded it: rows `first_row` to `end_row`, exclusive. */
export function recordedRange(
  first_row: number,
  end_row: number,
  over: Partial<RequestRecord> = {},
): RequestRecord {
  return {
    seq: first_row + 1,
    parent: null,
    input: 0,
    first_row,
    end_row,
    first_line: first_row + 2,
    last_line: end_row + 1,
    more: [],
    rows: end_row - first_row,
    merged: 0,
    unchanged: 0,
    left_out: 0,
    left_out_by: null,
    overtaken: 0,
    doubtful: 0,
    bytes: 100,
    digest: 'b'.repeat(64),
    ...UNTRIED,
    ...over,
  };
}
