/** The door of `input/`: files in, items out. What else is in this folder is nobody else's business. */
export { type BuildOptions, buildItems } from './build.js';
export { formatBytes, parseBytes } from './bytes.js';
export { jsonOfCell } from './columns.js';
export { DuplicateFinder, type Duplicates, HashSet } from './duplicates.js';
export { idHashes } from './hashes.js';
export { type InputOptions, MAX_CELL_BYTES, openInput } from './open.js';
export { readRows } from './ordinals.js';
export { expandGlobs, spoolStdin } from './spool.js';
export { type SurveyOptions, surveyInput } from './survey.js';
export {
  type ItemBatch,
  type MappingRules,
  NO_RULES,
  type OpenedInput,
  type RejectedRecord,
  type Schema,
  type Survey,
} from './types.js';
