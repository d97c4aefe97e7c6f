/** Flags that say how files are read and mapped: `import` and `inspect` share them. */
import type { Command } from 'commander';
import { UsageError } from '../../engine/errors.js';
import { COLUMN_TYPES, type ColumnType, FORMATS, type Kind } from '../../engine/model.js';
import { nearest } from '../../engine/nearest.js';
import type { ReadOptions } from '../../engine/options.js';
import type { Mapping, SomeRules } from '../../engine/read/index.js';
import type { Flags } from './command.js';
import type { FlagReader } from './flag-reader.js';

const KINDS: readonly Kind[] = ['companies', 'users'];
const TYPES: readonly (ColumnType | 'auto')[] = [...COLUMN_TYPES, 'auto'];

export function readingFlags(command: Command): Command {
  const again = (value: string, before: string[] = []): string[] => [...before, value];
  return command
    .optionsGroup('Reading files:')
    .option('--kind <kind>', 'companies or users; else from the columns')
    .option('--id <column>', "the identifier's column")
    .option('--company-id <column>', "the column of a user's company")
    .option('--format <format>', 'csv, tsv, json or ndjson; else from name and content')
    .option('--delimiter <char>', 'of CSV: one character, or tab; else found')
    .option('--encoding <name>', 'such as windows-1252; else UTF-8, or UTF-16 with BOM')
    .option('--max-cell <bytes>', 'longest cell (default 1MiB); a CSV header may have 4 MiB')
    .optionsGroup('Columns and values:')
    .option('--map <column=key>', 'send a column under another key (repeatable)', again)
    .option('--include <column>', 'send only these columns as metadata (repeatable)', again)
    .option('--exclude <column>', 'leave a column out (repeatable)', again)
    .option('--set <key=value>', 'add a key to every item (repeatable)', again)
    .option('--type <column=type>', 'string, integer, number, boolean or auto (repeatable)', again)
    .option('--types <how>', 'strings: infer no types; auto (default)')
    .option('--empty <how>', 'an empty cell: omit (default), null or string')
    .option('--mapping <file>', 'the same in a JSON file');
}

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
  // Help is shown without them.
  const [{ flagReader }, { MAX_CELL_BYTES, mergeRules, readMapping }] = await Promise.all([
    import('./flag-reader.js'),
    import('../../engine/read/index.js'),
  ]);
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
