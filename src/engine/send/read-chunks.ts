/** Reads planned inputs and splits them into chunks: to send them, or in a dry run only to count them. */

import { collectGarbage } from '../collect-garbage.js';
import type { Kind } from '../model.js';
import type { SendOptions } from '../options.js';
import type { Known } from '../plan/changes.js';
import { measure, type RequestTotals, type Volume } from '../plan/estimate.js';
import { acceptedOf, type PlannedInput, type Scanned } from '../plan/plan.js';
import {
  buildItems,
  type ItemBatch,
  itemMemory,
  type Pool,
  refuseChanged,
  type Start,
  startOf,
  startsAnywhere,
} from '../read/index.js';
import type { RequestRecord } from '../state/requests.js';
import { serialize } from './body.js';
import type { Chunk } from './chunk.js';
import { type ChunkRules, type Chunks, type InputBatch, type Limits, splitIntoChunks } from './chunker.js';

export interface ChunkDeps {
  options: Pick<SendOptions, 'changedOnly' | 'wait' | 'canary'>;
  limits: Readonly<Limits>;
  hashKey: Buffer;
  pool: Pool;
  signal: AbortSignal;
  /** The known profiles of a kind; undefined if the import sends everything. */
  known(kind: Kind): Promise<Known | undefined>;
  /** Finds ids that appear more than once and are unchanged as a whole; null if there are none. */
  repeats(kind: Kind, known: Known): Promise<ChunkRules['repeats']>;
  /** `ChunkRules.recorded` for a kind. */
  recorded(kind: Kind): ChunkRules['recorded'];
  /** Whether the rows of a recorded request are sent again. */
  isSentAgain(recorded: RequestRecord): boolean;
  /** Where to begin in an input (by its index in the run); null: at the first row. */
  startAt(input: number): Start | null;
}

/**
 * Yields the chunks of all inputs of a kind, in order. A chunk may continue in the next input.
 * @throws InputError if a file has changed since the plan
 */
async function* chunksOf({ inputs, duplicates }: Scanned, kind: Kind, deps: ChunkDeps): Chunks {
  const known = await deps.known(kind);
  const isCompared = inputs.every(({ opened, kept }) => opened.kind !== kind || kept?.isOf(known));
  const chunks = splitIntoChunks(batchesOf(inputs, kind, known, deps), {
    kind,
    limits: deps.limits,
    duplicates: duplicates.get(kind)!,
    repeats: known ? await deps.repeats(kind, known) : null,
    isUnchanged: known && !isCompared ? (rows, at) => known.index.matches(rows, at) : null,
    recorded: deps.recorded(kind),
    isSentAgain: deps.isSentAgain,
  });
  if (known && isCompared) {
    // The scan has decided which rows to send, so the index is no longer needed, here and in the worker
    // threads.
    const bytes = known.index.release();
    await deps.pool.rest();
    collectGarbage(bytes);
  }
  try {
    for (let next = await chunks.next(); !next.done; ) {
      for (const { input } of next.value.parts) await refuseChanged(inputs[input]!.opened);
      next = await chunks.next(yield next.value);
    }
  } finally {
    await chunks.return();
  }
}

async function* batchesOf(
  inputs: readonly PlannedInput[],
  kind: Kind,
  known: Known | undefined,
  deps: ChunkDeps,
): AsyncGenerator<InputBatch> {
  for (const [input, planned] of inputs.entries()) {
    if (planned.opened.kind !== kind) continue;
    for await (const batch of itemsOf(planned, deps.startAt(input), known, deps)) {
      yield { input, batch, done: () => itemMemory.give(batch.items.buffer) };
    }
    await refuseChanged(planned.opened); // also if the file was cut off, since missing rows are in no chunk
  }
}

/**
 * The items to split: those that the scan kept, if the known profiles are still those of the scan; otherwise,
 * all items are built again.
 */
function itemsOf(
  { opened, scan, kept }: PlannedInput,
  start: Start | null,
  known: Known | undefined,
  { hashKey, pool, signal, options }: ChunkDeps,
): AsyncIterable<ItemBatch> | Iterable<ItemBatch> {
  // Without these options, no fingerprints are needed, so the items are not hashed.
  const records = options.wait || options.changedOnly;
  const how = { hashKey, records, pool, planned: scan.marks, signal };
  if (known && kept?.isOf(known)) {
    return kept.take((isWanted) => buildItems(opened, scan.schema, { ...how, isWanted }));
  }
  const from = start && startsAnywhere(opened) ? start : undefined;
  return buildItems(opened, scan.schema, { ...how, from });
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
  each?: (chunk: Chunk, body: ReturnType<typeof serialize>) => void,
): Promise<RequestTotals> {
  const total: RequestTotals = {
    ...{ exact: true, requests: 0, bytes: 0, merged: 0, unchanged: 0 },
    items: new Map(),
  };
  let { canary } = deps.options;
  for (const kind of scanned.duplicates.keys()) {
    const volume = volumeOf(scanned, kind, await deps.known(kind));
    const measured = measure(volume, deps.limits, canary);
    const exact = measured.exact && volume.isToSend && scanned.duplicates.get(kind)!.count === 0;
    if (!each && (exact || !exactly)) {
      total.exact &&= exact;
      total.requests += measured.requests;
      total.bytes += measured.bytes;
      const unchanged = unchangedOf(scanned, kind);
      total.unchanged += unchanged;
      total.items.set(kind, volume.isToSend ? volume.rows : volume.rows - unchanged);
      if (measured.requests > 0) canary = null;
      continue;
    }
    const most = deps.limits.items;
    const first = { ...deps.limits, items: Math.min(most, canary ?? most) };
    const chunks = chunksOf(scanned, kind, { ...deps, limits: first });
    for (
      let next = await chunks.next();
      !next.done;
      next = await chunks.next(canary === null ? most : undefined)
    ) {
      const chunk = next.value;
      total.unchanged += chunk.unchanged;
      if (chunk.ends.length === 0 && !each) continue;
      const made = serialize(chunk);
      const { body, items, merged } = made;
      each?.(chunk, made);
      if (chunk.ends.length === 0) continue;
      canary = null;
      total.requests++;
      total.bytes += body.length;
      total.merged += merged;
      total.items.set(kind, (total.items.get(kind) ?? 0) + items);
    }
  }
  return total;
}

/** Rows of a kind that the scans found to be unchanged. */
function unchangedOf({ inputs }: Scanned, kind: Kind): number {
  const ofKind = inputs.filter(({ opened }) => opened.kind === kind);
  return ofKind.reduce((sum, { classes }) => sum + (classes?.unchanged ?? 0), 0);
}

/**
 * Adds up the rows of all inputs of a kind: those to send (`isToSend`), or all if it is not known which these are, or
 * their items were not kept.
 */
function volumeOf({ inputs }: Scanned, kind: Kind, known: Known | undefined): Volume & { isToSend: boolean } {
  const ofKind = inputs.filter(({ opened }) => opened.kind === kind);
  const sendsAll = known === undefined || known.index.rows === 0;
  const changed = sendsAll ? [] : ofKind.map(({ kept }) => (kept?.isOf(known) ? kept.changed() : null));
  const isToSend = changed.every((batches) => batches !== null);
  const volume = { kind, rows: 0, bytes: 0, largestItemBytes: 0, isToSend };
  const add = (rows: number, bytes: number, largest: number): void => {
    volume.rows += rows;
    volume.bytes += bytes;
    volume.largestItemBytes = Math.max(volume.largestItemBytes, largest);
  };
  if (sendsAll || !isToSend) {
    for (const { scan } of ofKind) add(acceptedOf(scan.rows), scan.bytes, scan.largestItemBytes);
  } else {
    for (const batch of changed.flatMap((batches) => batches ?? [])) {
      for (const [at, end] of batch.ends.entries()) {
        const bytes = end - startOf(batch, at) - 1; // without its comma
        add(1, bytes, bytes);
      }
    }
  }
  return volume;
}

/** Yields the chunks of a kind, to be sent. Stops the worker threads after the last kind. */
export async function* chunksOfKind(scanned: Scanned, kind: Kind, deps: ChunkDeps): Chunks {
  yield* chunksOf(scanned, kind, deps);
  // Nothing more is read, and the last jobs may take hours.
  if (scanned.inputs.at(-1)?.opened.kind === kind) await deps.pool.close();
}
