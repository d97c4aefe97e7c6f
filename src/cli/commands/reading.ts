/** How files are read and mapped: `import` and `inspect` share it. */
import type { ReadOptions } from '../../engine/options.js';
import { cellType, readMapping, type SomeRules, statedBy, withMappings } from '../../engine/read/index.js';
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
  const { mapping: names = [] } = given({ mapping: COLUMNS.mapping }, flags);
  const files = (await Promise.all(names.map((name) => readMapping(name, cwd)))).flat();
  const asked = { ...read, rules: rulesOf(flags) };
  return {
    paths: [...paths],
    ...read,
    ...withMappings(files, asked, rulesOf(defaults), paths.length === 1),
    stated: statedBy(files, asked.rules, flags.types !== undefined),
  };
}

function rulesOf(flags: Flags): SomeRules {
  const { type, types, map, include, exclude, set, empty, keys, trim, ...more } = given(COLUMNS, flags);
  const infer = types === undefined ? undefined : types === 'auto';
  const { null: nulls, allowId: allowIds } = more;
  return { map, include, exclude, set, types: typesOf(type), infer, empty, keys, trim, nulls, allowIds };
}

const typesOf = (
  given: readonly (readonly [column: string, type: string])[] | undefined,
): SomeRules['types'] => given?.map(([column, type]) => [column, cellType(type, `--type ${column}`)]);
