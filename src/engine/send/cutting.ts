/** From planned inputs to chunks: to be sent, or for a dry run only to be counted. */

import type { Kind } from '../model.js';
import type { SendOptions } from '../options.js';
import type { Known } from '../plan/changes.js';
import type { Duplicates } from '../plan/duplicates.js';
import { measure, type RequestTotals } from '../plan/estimate.js';
import { acceptedOf, type PlannedInput, type Scanned } from '../plan/plan.js';
import { buildItems, type ItemBatch, type Pool, refuseChanged } from '../read/index.js';
import { serialize } from './body.js';
import { type Chunk, type CutRules, cutChunks } from './chunk.js';

export interface CutDeps {
  options: Pick<SendOptions, 'changedOnly' | 'wait'>;
  limits: { items: number; bytes: number };
  hashKey: Buffer;
  pool: Pool;
  signal: AbortSignal;
  duplicates: ReadonlyMap<Kind, Duplicates>;
  /** What the service holds of a kind; undefined when everything is sent. */
  known(kind: Kind): Known | undefined;
  recorded(input: number): CutRules['recorded'];
  /** What others have sent later: of a run that goes on. */
  sentLater(kind: Kind): CutRules['sentLater'];
}

/**
 * The chunks of one planned input, in order: what is sent, and what a dry run counts.
 * @throws InputError when the file was written to since it was planned
 */
async function* chunksOf(planned: PlannedInput, input: number, deps: CutDeps): AsyncGenerator<Chunk> {
  const { opened } = planned;
  const { kind } = opened;
  const known = deps.known(kind);
  const chunks = cutChunks(itemsOf(planned, known, deps), {
    kind,
    input,
    limits: deps.limits,
    duplicates: deps.duplicates.get(kind)!,
    isUnchanged: known ? (rows, at) => known.index.matches(rows, at) : null,
    sentLater: deps.sentLater(kind),
    recorded: deps.recorded(input),
  });
  for await (const chunk of chunks) {
    await refuseChanged(opened);
    yield chunk;
  }
  await refuseChanged(opened); // what it has not any more is in no chunk
}

/** The items to cut: as the scan kept them, where what was known then still holds; otherwise built from the file. */
function itemsOf(
  { opened, scan, kept }: PlannedInput,
  known: Known | undefined,
  { hashKey, pool, signal, options }: CutDeps,
): AsyncIterable<ItemBatch> | Iterable<ItemBatch> {
  const changed = kept?.take(known);
  if (changed) return changed;
  // An import that does not see its jobs end leaves nothing by which a record is known again.
  const records = options.wait || options.changedOnly;
  return buildItems(opened, scan.schema, { hashKey, records, pool, planned: scan.marks, signal });
}

/**
 * Requests and bytes of the plan. Where rows merge, are skipped, or may meet the byte limit, only cutting
 * tells: then `exactly` reads the inputs once more, as sending would, and counts.
 */
export async function countRequests(
  scanned: Scanned,
  deps: CutDeps,
  exactly: boolean,
): Promise<RequestTotals> {
  const total: RequestTotals = { requests: 0, bytes: 0, merged: 0, unchanged: 0 };
  for (const [index, input] of scanned.inputs.entries()) {
    const { scan, opened } = input;
    const rows = acceptedOf(scan.rows);
    const volume = {
      kind: opened.kind,
      rows,
      bytes: scan.bytes,
      largestItemBytes: scan.largestItemBytes,
    };
    const measured = measure(volume, deps.limits);
    const plain =
      measured.exact && !deps.options.changedOnly && scanned.duplicates.get(opened.kind)!.count === 0;
    if (plain || !exactly) {
      total.requests += measured.requests;
      total.bytes += measured.bytes;
      continue;
    }
    for await (const chunk of chunksOf(input, index, deps)) {
      total.unchanged += chunk.unchanged;
      if (chunk.ends.length === 0) continue;
      const { body, merged } = serialize(chunk);
      total.requests++;
      total.bytes += body.length;
      total.merged += merged;
    }
  }
  return total;
}

/** Those of all inputs of a kind. */
export async function* chunksOfKind(scanned: Scanned, kind: Kind, cut: CutDeps): AsyncGenerator<Chunk> {
  for (const [index, input] of scanned.inputs.entries()) {
    if (input.opened.kind === kind) yield* chunksOf(input, index, cut);
  }
  // The last jobs may take hours, and nothing is read any more.
  if (scanned.inputs.at(-1)?.opened.kind === kind) await cut.pool.close();
}
