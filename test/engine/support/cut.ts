/** Chunks of rows that are made by hand. */
import { serialize } from '../../../src/engine/send/body.js';
import { type Chunk, type CutRules, cutChunks } from '../../../src/engine/send/chunk.js';
import { batchesOf, duplicatesOf, type Row } from './rows.js';

const NO_LIMITS = { items: 1_000, bytes: 1_000_000 };

/** All chunks of these rows, read in batches of `batch`. */
export async function cut(
  rows: readonly Row[],
  over: Partial<CutRules> = {},
  batch?: number,
): Promise<Chunk[]> {
  const rules: CutRules = {
    kind: 'companies',
    input: 0,
    limits: NO_LIMITS,
    duplicates: duplicatesOf(rows),
    isUnchanged: null,
    recorded: [],
    ...over,
  };
  const chunks: Chunk[] = [];
  for await (const chunk of cutChunks(batchesOf(rows, batch), rules)) chunks.push(chunk);
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
