/** What makes a run a run: its name, what it keeps of its options, and what tells two runs of the same content. */
import { createHash } from 'node:crypto';
import { dialectOptions } from '../dialect-options.js';
import type { Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { Scope } from '../state/state.js';

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/** `20261120-101500-x7k2`: sorts by time, can be read out and typed. UTC. */
export function newRunId(now: number, random: () => number): string {
  const time = new Date(now).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  const tail = Array.from({ length: 4 }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');
  return `${time}-${tail}`;
}

/** Same content, kinds, mapping and host: by this an import finds the run to continue (contract §4). */
export function identityOf(
  scope: Scope,
  inputs: readonly { digest: string; kind: Kind }[],
  options: ImportOptions,
): string {
  const { kind, id, companyId, format, delimiter, encoding, rules, maxCellBytes, chunkBytes } = options;
  const { where = [], limit, jsonPath, roundNumbers = false } = options;
  const { userId, byKind } = options;
  const content = [scope.region, scope.base_url, inputs.map((i) => [i.digest, i.kind])];
  const mapping: unknown[] = [kind, id, companyId, format, delimiter, encoding, rules];
  // Of what came later, only what was asked for: runs of earlier versions must be found again.
  const { sheet } = options;
  if (sheet !== undefined) mapping.push({ sheet });
  if (userId !== undefined || byKind !== undefined) mapping.push({ userId, byKind });
  // They decide which rows are invalid: with others, what was sent and what is rejected would overlap.
  const bounds = [maxCellBytes, chunkBytes];
  // Only what was asked for: runs that began before there was such a thing are found again.
  const { delimiter: _, ...dialect } = dialectOptions(options);
  const read = Object.keys(dialect).length > 0 ? [dialect] : [];
  const chosen = {
    ...(where.length > 0 && { where }),
    limit,
    jsonPath,
    ...(roundNumbers && { roundNumbers }),
  };
  const selection = JSON.stringify(chosen) === '{}' ? [] : [chosen];
  return createHash('sha256')
    .update(JSON.stringify([content, mapping, bounds, ...read, ...selection]))
    .digest('hex');
}
