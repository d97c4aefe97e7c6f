/** The door of `input/`: files in, items out. What else is in this folder is nobody else's business. */
import type { Mapping } from './columns/mapping-file.js';

export { buildItems } from './build.js';
export { parseBytes } from './bytes.js';
export { changedItems, type Known, MOST_KEPT_BYTES } from './changed.js';
/** Loaded on its own: most imports have no mapping file. */
export const readMapping = async (path: string, cwd: string): Promise<Mapping> =>
  (await import('./columns/mapping-file.js')).readMapping(path, cwd);
export { mappingDraft } from './columns/mapping-draft.js';
export type { Mapping } from './columns/mapping-file.js';
export { type MappingRules, mergeRules, NO_RULES, type SomeRules } from './columns/rules.js';
export { jsonOfCell } from './columns/targets.js';
export { DuplicateFinder, type Duplicates } from './duplicates.js';
export { idHashes } from './hashes.js';
export { bytesOf, pick, startOf } from './item-batch.js';
export { inexactNumber, writtenAgain } from './json/text.js';
export { type InputOptions, MAX_CELL_BYTES, openInput } from './open.js';
export { readRows } from './ordinals.js';
export { Pool } from './pool.js';
export { surveyInput } from './survey.js';
export { expandGlobs, spoolStdin } from './text/spool.js';
export type {
  ItemBatch,
  OpenedInput,
  RejectedRecord,
  Schema,
  Survey,
} from './types.js';
