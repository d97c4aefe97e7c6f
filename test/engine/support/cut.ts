/** Chunks of rows that are made by hand. */

import type { ItemBatch } from '../../../src/engine/read/index.js';
import { type Chunk, type ChunkPart, serialize } from '../../../src/engine/send/chunk.js';
import { type ChunkRules, type InputBatch, splitIntoChunks } from '../../../src/engine/send/chunker.js';
import { batchesOf, duplicatesOf, type Row } from './rows.js';

const NO_LIMITS = { items: 1_000, bytes: 1_000_000 };

/** Batches as those of one input. What is in one is written over when the next one is asked for. */
export async function* ofInput(input: number, batches: AsyncIterable<ItemBatch>): AsyncGenerator<InputBatch> {
  for await (const batch of batches) {
    yield { input, batch };
    batch.items.fill(0);
  }
}

/** The only part of a chunk of one input. */
export function rangeOf({ parts }: Chunk): ChunkPart {
  if (parts.length !== 1) throw new Error(`${parts.length} parts`);
  return parts[0]!;
}

/** All chunks of these rows, read in batches of `batch`. */
export async function cut(
  rows: readonly Row[],
  over: Partial<ChunkRules> = {},
  batch?: number,
): Promise<Chunk[]> {
  const rules: ChunkRules = {
    kind: 'companies',
    limits: NO_LIMITS,
    duplicates: duplicatesOf(rows),
    isUnchanged: null,
    recorded: [],
    ...over,
  };
  const chunks: Chunk[] = [];
  for await (const chunk of splitIntoChunks(ofInput(0, batchesOf(rows, batch)), rules)) chunks.push(chunk);
  return chunks;
}

export const rowsOf = (...ids: string[]): Row[] => ids.map((id) => ({ id }));
export const numbered = (n: number): Row[] => rowsOf(...Array.from({ length: n }, (_, i) => `c${i}`));

export interface Item {
  company_id: string;
  metadata?: Record<string, unknown>;
}

/** The items of a chunk's body as it goes out. */
export const mergedOf = (chunk: Chunk): Item[] =>
  JSON.parse(serialize(chunk).body.toString()).companies as Item[];
