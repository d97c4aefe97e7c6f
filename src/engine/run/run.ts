/** The id of a run, and the identity by which an import finds an unfinished run of the same content. */
import { createHash } from 'node:crypto';
import type { Kind } from '../model.js';
import { dialectOptions } from '../options/dialect-options.js';
import type { ImportOptions } from '../options.js';
import type { Scope } from '../state/state.js';

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/**
 * Makes an id such as `20261120-101500-x7k2`. It sorts by time (UTC), and is easy to read aloud and to type.
 */
export function newRunId(now: number, random: () => number): string {
  const time = new Date(now).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  const tail = Array.from({ length: 4 }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');
  return `${time}-${tail}`;
}

/**
 * Hashes the content, kinds, mapping, and host. An import continues an unfinished run only if both have the
 * same identity (contract §4).
 * @returns hexadecimal
 */
export function identityOf(
  scope: Scope,
  inputs: readonly { digest: string; kind: Kind }[],
  options: ImportOptions,
): string {
  const { kind, id, companyId, format, delimiter, encoding, rules, chunkBytes } = options;
  const { where = [], limit, jsonPath, roundNumbers = false } = options;
  const { maxCellBytes, maxColumns, maxDepth } = options;
  const { userId, byKind } = options;
  const content = [scope.region, scope.base_url, inputs.map((i) => [i.digest, i.kind])];
  const mapping: unknown[] = [kind, id, companyId, format, delimiter, encoding, rules];
  // Newer options are included only if they were given, so that runs of earlier versions are still found.
  const { sheet } = options;
  if (sheet !== undefined) mapping.push({ sheet });
  if (userId !== undefined || byKind !== undefined) mapping.push({ userId, byKind });
  // These limits decide which rows are invalid. With different limits, sent and rejected rows would overlap.
  const bounds = [maxCellBytes, maxColumns, maxDepth, chunkBytes];
  // Also only if they were given.
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
