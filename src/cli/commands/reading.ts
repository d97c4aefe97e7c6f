/** How files are read and mapped: `import` and `inspect` share it. */
import type { ReadOptions } from '../../engine/options.js';
import {
  type Mapping,
  mergeRules,
  readMapping,
  type SomeRules,
  statedRules,
} from '../../engine/read/index.js';
import { COLUMNS, engineValues, given, READING } from '../options/index.js';
import type { Flags } from './command.js';

/**
 * Flags over the mapping file over the config file.
 * @param defaults the config file's `import.*`
 * @throws UsageError, and ConfigError for the mapping file
 */
export async function readingOptions(
  paths: readonly string[],
  flags: Flags,
  defaults: Flags,
  cwd: string,
): Promise<ReadOptions> {
  const read = engineValues(READING, { ...defaults, ...flags });
  const { mapping: file } = given({ mapping: COLUMNS.mapping }, flags);
  const mapping: Mapping = file === undefined ? { rules: {} } : await readMapping(file, cwd);
  return {
    paths: [...paths],
    ...read,
    kind: read.kind ?? mapping.kind,
    id: read.id ?? mapping.id,
    companyId: read.companyId ?? mapping.companyId,
    rules: mergeRules(mergeRules(rulesOf(defaults), mapping.rules), rulesOf(flags)),
    stated: {
      rules: statedRules(mapping.rules, rulesOf(flags)),
      columns: file !== undefined || flags.types !== undefined,
    },
  };
}

function rulesOf(flags: Flags): SomeRules {
  const { type, types, map, include, exclude, set, empty } = given(COLUMNS, flags);
  const infer = types === undefined ? undefined : types === 'auto';
  return { map, include, exclude, set, types: type, infer, empty };
}
