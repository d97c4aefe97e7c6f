/** The names of what an import is asked for. */
import { FACTS, type FileFacts } from '../options/file-facts.js';
import { type MappingRules, NO_RULES } from '../options/mapping-rules.js';
import { DEFAULTS, IMPORT_NUMBERS } from '../options.js';
import type { Names } from '../util/option-names.js';
import type { ImportRequest, PlanRequest } from './import-request.js';

/** Of both: the same request can be planned first, and then sent. */
export const REQUEST_NAMES: Names<PlanRequest & ImportRequest> = {
  ...IMPORT_NUMBERS,
  ...DEFAULTS,
  ...(Object.fromEntries(FACTS.map((name) => [name, true])) as Names<FileFacts>),
  files: true,
  records: true,
  stdin: true,
  cwd: true,
  mapping: true,
  rules: true,
  kind: true,
  id: true,
  userId: true,
  companyId: true,
  where: true,
  limit: true,
  service: true,
  stateDir: true,
  state: true,
  plan: true,
  run: true,
  again: true,
  savePlan: true,
  threads: true,
  signal: true,
  abort: true,
};

export const RULE_NAMES: Names<MappingRules> = {
  ...NO_RULES,
  keys: true,
  nulls: true,
  trim: true,
  allowIds: true,
};
