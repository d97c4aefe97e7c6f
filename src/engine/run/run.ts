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
  const {
    kind,
    id,
    companyId,
    userId,
    byKind,
    format,
    encoding,
    sheet,
    jsonPath,
    rules,
    roundNumbers = false,
  } = options;
  const { where = [], limit, maxCellBytes, maxColumns, maxDepth, chunkBytes } = options;
  const content = [scope.region, scope.base_url, inputs.map((i) => [i.digest, i.kind])];
  const mapping = [kind, id, companyId, userId, byKind, rules];
  const reading = [format, encoding, sheet, jsonPath, roundNumbers, dialectOptions(options)];
  // These limits decide which rows are invalid. With different limits, sent and rejected rows would overlap.
  const bounds = [maxCellBytes, maxColumns, maxDepth, chunkBytes];
  const all = [content, mapping, reading, bounds, where, limit];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex');
}
