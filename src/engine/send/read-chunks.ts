/** Reads planned inputs and splits them into chunks: to send them, or in a dry run only to count them. */

import type { FingerprintIndex } from '../fingerprints/index.js';
import type { RequestRecord } from '../model/requests.js';
import type { Kind } from '../model.js';
import type { SendOptions } from '../options.js';
import type { Comparison } from '../plan/compare.js';
import { measure, type RequestTotals, type Scanned, volumeOf } from '../plan/plan.js';
import { buildItems, itemMemory, type Pool, refuseChanged } from '../read/index.js';
import type { Chunk } from './chunk.js';
import { type ChunkRules, type InputBatch, type Limits, splitIntoChunks } from './chunker.js';
import { prepare } from './request-record.js';

export interface ChunkDeps {
  options: Pick<SendOptions, 'canary'>;
  limits: Limits;
  hashKey: Buffer;
  pool: Pool;
  signal: AbortSignal;
  /** The known profiles of a kind; undefined if the import sends everything. */
  known(kind: Kind): Promise<FingerprintIndex | undefined>;
  /** Compares the rows of a kind with the known profiles. */
  compared(kind: Kind, known: FingerprintIndex): Promise<Comparison>;
  /** `ChunkRules.recorded` for a kind. */
  recorded(kind: Kind): ChunkRules['recorded'];
  /** Whether the rows of a recorded request are sent again. */
  isSentAgain(recorded: RequestRecord): boolean;
}

/**
 * Yields the chunks of all inputs of a kind, in order. A chunk may continue in the next input.
 * @throws InputError if a file has changed since the plan
 */
export async function* chunksOf(
  { inputs, duplicates }: Scanned,
  kind: Kind,
  deps: ChunkDeps,
): AsyncGenerator<Chunk> {
  const known = await deps.known(kind);
  const ofKind = duplicates.get(kind)!;
  const chunks = splitIntoChunks(batchesOf(inputs, kind, deps), {
    kind,
    limits: deps.limits,
    duplicates: ofKind,
    repeats: known && ofKind.count > 0 ? (await deps.compared(kind, known)).repeats : null,
    isUnchanged: known && known.rows > 0 ? (rows, at) => known.matches(rows, at) : null,
    rejectionOf: known?.hasRejected ? (rows, at) => known.rejectionOf(rows, at) : null,
    recorded: deps.recorded(kind),
    isSentAgain: deps.isSentAgain,
  });
  for await (const chunk of chunks) {
    for (const { input } of chunk.parts) await refuseChanged(inputs[input]!.opened);
    yield chunk;
  }
}

async function* batchesOf(
  inputs: Scanned['inputs'],
  kind: Kind,
  { hashKey, pool, signal }: ChunkDeps,
): AsyncGenerator<InputBatch> {
  for (const [input, { opened, scan }] of inputs.entries()) {
    if (opened.kind !== kind) continue;
    const options = { hashKey, pool, planned: scan, signal };
    for await (const batch of buildItems(opened, scan.schema, options)) {
      yield { input, batch };
      itemMemory.give(batch.items.buffer);
    }
    await refuseChanged(opened); // also if the file was cut off, since missing rows are in no chunk
  }
}

/**
 * Counts the requests and bytes of a plan. If rows may be merged, unchanged, or limited by the size of a
 * request, they can only be counted by splitting the inputs as sending would.
 * @param exactly whether to read the inputs again in that case; if not, the result is an estimate
 * @param each called with every request in order, including those without items; then the inputs are always
 * read
 */
export async function countRequests(
  scanned: Scanned,
  deps: ChunkDeps,
  exactly: boolean,
  each?: (chunk: Chunk) => void,
): Promise<RequestTotals> {
  const total: RequestTotals = {
    ...{ exact: true, requests: 0, bytes: 0, merged: 0, unchanged: 0 },
    items: new Map(),
  };
  let { canary } = deps.options;
  for (const kind of scanned.duplicates.keys()) {
    const known = await deps.known(kind);
    const compared = known ? await deps.compared(kind, known) : null;
    const volume = compared?.toSend ?? volumeOf(scanned, kind);
    const measured = measure(volume, deps.limits, canary);
    const isPlain = scanned.duplicates.get(kind)!.count === 0 && !known?.hasRejected;
    const exact = measured.exact && isPlain;
    if (!each && (exact || !exactly)) {
      total.exact &&= exact;
      total.requests += measured.requests;
      total.bytes += measured.bytes;
      total.unchanged += compared?.changes.unchanged ?? 0;
      total.items.set(kind, volume.rows);
      if (measured.requests > 0) canary = null;
      continue;
    }
    const { items: most, bytes } = deps.limits;
    const limits = { items: Math.min(most, canary ?? most), bytes };
    for await (const chunk of chunksOf(scanned, kind, { ...deps, limits })) {
      total.unchanged += chunk.unchanged;
      each?.(chunk);
      if (chunk.ends.length === 0 || chunk.rejected !== null) continue;
      canary = null;
      limits.items = most;
      const { content } = prepare(chunk);
      total.requests++;
      total.bytes += content.bytes;
      total.merged += content.merged;
      total.items.set(kind, (total.items.get(kind) ?? 0) + content.rows);
    }
  }
  return total;
}
