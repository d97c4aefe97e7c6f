/** How the words of the reading flags become options. */
import { UsageError } from '../errors.js';
import type { ReadOptions } from '../flow/options.js';
import { MAX_CELL_BYTES, type Mapping, mergeRules, readMapping, type SomeRules } from '../input/index.js';
import type { ColumnType, Format, Kind } from '../model.js';
import { nearest } from '../nearest.js';
import type { Flags } from './command.js';
import { type FlagReader, flagReader } from './flag-reader.js';

const KINDS: readonly Kind[] = ['companies', 'users'];
const FORMATS: readonly Format[] = ['csv', 'tsv', 'json', 'ndjson'];
const TYPES: readonly (ColumnType | 'auto')[] = ['string', 'integer', 'number', 'boolean', 'auto'];

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
  const given = flagReader(flags);
  const read = flagReader({ ...defaults, ...flags });
  const file = given.text('mapping');
  const mapping: Mapping = file === undefined ? { rules: {} } : await readMapping(file, cwd);
  return {
    paths: [...paths],
    kind: read.choice('kind', KINDS) ?? mapping.kind,
    id: read.text('id') ?? mapping.id,
    companyId: read.text('companyId') ?? mapping.companyId,
    format: read.choice('format', FORMATS),
    delimiter: read.text('delimiter'),
    encoding: read.text('encoding'),
    maxCellBytes: read.bytes('maxCell') ?? MAX_CELL_BYTES,
    rules: mergeRules(mergeRules(rulesOf(flagReader(defaults)), mapping.rules), rulesOf(given)),
  };
}

function rulesOf(read: FlagReader): SomeRules {
  const types = read.choice('types', ['auto', 'strings'] as const);
  return {
    map: read.pairs('map'),
    include: read.list('include'),
    exclude: read.list('exclude'),
    set: read.pairs('set'),
    types: read.pairs('type').map(([column, type]) => [column, columnType(column, type)] as const),
    infer: types === undefined ? undefined : types === 'auto',
    empty: read.choice('empty', ['omit', 'null', 'string'] as const),
  };
}

function columnType(column: string, type: string): ColumnType | 'auto' {
  const found = TYPES.find((known) => known === type);
  if (found) return found;
  const like = nearest(type, TYPES);
  throw new UsageError(`--type ${column}: "${type}" is not one of ${TYPES.join(', ')}`, {
    hint: like ? `did you mean ${like}?` : undefined,
  });
}
