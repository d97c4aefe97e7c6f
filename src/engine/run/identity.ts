/** How runs are named and recognized: the id, the identity of what a run imports, and older runs of the same files. */
import { createHash } from 'node:crypto';
import type { Kind } from '../model.js';
import { dialectOptions } from '../options/dialect-options.js';
import type { ImportOptions } from '../options.js';
import type { Scanned } from '../plan/plan.js';
import { isWebAddress } from '../service/address.js';
import { sameScope } from '../state/access.js';
import type { StoredRun } from '../state/runs.js';
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
  const { kind, id, companyId, userId, byKind, rules } = options;
  const { format, encoding, sheet, jsonPath, roundNumbers = false } = options;
  const { where = [], limit, maxCellBytes, maxColumns, maxDepth, chunkBytes } = options;
  const content = [scope.region, scope.base_url, inputs.map((i) => [i.digest, i.kind])];
  const mapping = [kind, id, companyId, userId, byKind, rules];
  const reading = [format, encoding, sheet, jsonPath, roundNumbers, dialectOptions(options)];
  // These limits decide which rows are invalid. With different limits, sent and rejected rows would overlap.
  const bounds = [maxCellBytes, maxColumns, maxDepth, chunkBytes];
  const all = [content, mapping, reading, bounds, where, limit];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex');
}

/** Older unfinished runs of the same files, whose place a new run takes. */
export function supersededBy(
  { run, scope, machine: here }: Pick<StoredRun, 'run' | 'scope' | 'machine'>,
  { inputs }: Scanned,
  known: readonly StoredRun[],
): StoredRun[] {
  // Each run has its own copy of a downloaded input, so downloads are compared by address, not by location.
  const addresses = new Set(inputs.map(({ opened }) => opened.path).filter(isWebAddress));
  const digests = new Map(inputs.map(({ opened, scan }) => [opened.location, scan.digest]));
  // On another machine, a path may lead to another file.
  const isOfFile = ({ machine, inputs }: StoredRun): boolean =>
    inputs.some(
      ({ path, location, digest }) =>
        addresses.has(path) ||
        (digests.has(location) && (machine === here || digests.get(location) === digest)),
    );
  return known.filter((r) => r.run !== run && !r.finished && sameScope(r.scope, scope) && isOfFile(r));
}
