/**
 * The public part of `read/`: files in, items out. Other folders import nothing else from this one, except for the
 * plan.
 */
import type { MappingFile } from './mapping/mapping-file.js';
import type { Mapping, Zones } from './mapping/rules.js';

export * from './cell-hashes.js';
export { isMarker, readsAsType } from './conversion/guess.js';
export { decide, sameDecimals } from './conversion/stats.js';
export { BOOLEAN_TYPES } from './conversion/texts.js';
export * from './conversion/types.js';
export { isAfterQuote, isBehindBackslash } from './csv/parser.js';
export * from './csv/rejected.js';
export * from './hashes.js';
export * from './identifier.js';
export * from './item-text.js';
export * from './items.js';
export * from './records.js';
export * from './rejects-rows.js';
export * from './sources/spool.js';
export { bodyMemory, itemMemory } from './text/memory.js';
export * from './wording.js';
export * from './written.js';
/** The reader is loaded when it is needed: most imports have no mapping file. */
export async function readMappings(
  paths: readonly string[],
  cwd: string,
  zones: Zones = {},
  stop?: AbortSignal,
): Promise<Mapping[]> {
  const read = async (path: string) =>
    (await import('./mapping/mapping-file.js')).readMapping(path, cwd, zones, stop);
  return (await Promise.all(paths.map(read))).flat();
}
/** The rules of a mapping that is not a file. @param name for messages @throws ConfigError */
export async function mappingsOf(mapping: MappingFile, name: string): Promise<Mapping[]> {
  return (await import('./mapping/mapping-file.js')).mappingsIn(mapping, name);
}
export type { Inferred } from './format.js';
export { placeWord } from './formats.js';
export { lossIn } from './json/text.js';
export { checkOpened, checkScanned } from './mapping/check-rules.js';
export { hasIdentifierRule } from './mapping/identity.js';
export { likeliestCompany, likeliestIds, namedLikeCompanies } from './mapping/likely-names.js';
export type { MappingFile, MappingSection } from './mapping/mapping-file.js';
export * from './mapping/rules.js';
export { jsonOfCell } from './mapping/targets.js';
export { openInput } from './open.js';
export { scanInput } from './scan.js';
export { isArchive, unpackMember } from './sources/archive.js';
export { expandInput, leftOutOf, type Source } from './sources/expand.js';
export { digestFile } from './text/source.js';
export { type DigestedFile, refuseChanged } from './text/unchanged.js';
export * from './types.js';
export { Pool } from './workers/pool.js';
