/** Finds the rows that the service has as they are, for older data that must not overwrite them. */
import type { Kind } from '../model.js';
import type { Comparison, Known } from '../plan/compare.js';
import type { Scanned } from '../plan/plan.js';
import { buildItems, type Pool } from '../read/index.js';

/** The ids of the unchanged rows of a kind. Reads the inputs again. @throws InputError; the signal's reason */
export async function unchangedIds(
  { inputs, duplicates }: Scanned,
  kind: Kind,
  { index }: Known,
  { repeats }: Comparison,
  { hashKey, pool, signal }: { hashKey: Buffer; pool: Pool; signal: AbortSignal },
): Promise<BigUint64Array> {
  const found: bigint[] = [];
  const { repeated } = duplicates.get(kind)!;
  for (const { opened, scan } of inputs) {
    if (opened.kind !== kind) continue;
    const options = { hashKey, pool, planned: scan.marks, signal };
    for await (const batch of buildItems(opened, scan.schema, options)) {
      for (const [at, id] of batch.ids.entries()) {
        if (repeated.has(id) ? repeats?.isUnchanged(id) : index.matches(batch, at)) found.push(id);
      }
    }
  }
  return BigUint64Array.from(found);
}
