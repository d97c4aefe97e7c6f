/** The door of `input/`: files in, items out. What else is in this folder is nobody else's business. */
import type { Mapping } from './mapping/mapping-file.js';

export { changedItems, type Known, MOST_KEPT_BYTES } from '../plan/changed.js';
export { buildItems } from './build.js';
/** Loaded on its own: most imports have no mapping file. */
export const readMapping = async (path: string, cwd: string): Promise<Mapping> =>
  (await import('./mapping/mapping-file.js')).readMapping(path, cwd);
export { DuplicateFinder, type Duplicates } from '../plan/duplicates.js';
export { columnsOf } from './columns.js';
export { idHashes } from './hashes.js';
export { bytesOf, pick, startOf } from './item-batch.js';
export { inexactNumber, writtenAgain } from './json/text.js';
export { mappingDraft } from './mapping/mapping-draft.js';
export type { Mapping } from './mapping/mapping-file.js';
export { type MappingRules, mergeRules, NO_RULES, type SomeRules } from './mapping/rules.js';
export { jsonOfCell } from './mapping/targets.js';
export { type InputOptions, openInput } from './open.js';
export { readRows } from './ordinals.js';
export { ITEM_FORMAT_VERSION } from './record-hashes.js';
export { scanInput } from './scan.js';
export { changedMeanwhile } from './text/source.js';
export { expandGlobs, spoolStdin } from './text/spool.js';
export type {
  ItemBatch,
  Marks,
  OpenedInput,
  RejectedRecord,
  Scan,
  Schema,
} from './types.js';
export { Pool } from './workers/pool.js';
