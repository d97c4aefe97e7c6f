/** Options for how files are read, which rows are used, and how columns are mapped. */
import { NO_RULES } from '../../engine/mapping-rules.js';
import { WORDS } from '../../engine/options.js';
import { fact, numberSetting, row, rule, type Table } from './option.js';
import { CONDITION_TYPE, countType, FLAG, pair, path, text, word, ZONE_TYPE } from './types.js';

const COLUMN = text('column');

/** How files are read. */
export const READING = {
  kind: row(word('kind', WORDS.kind), 'companies or users', {
    short: 'k',
    otherwise: 'by the columns',
    engine: true,
    mapping: 'top',
  }),
  id: row(COLUMN, 'identifier', {
    otherwise: 'by the columns',
    complete: 'columns',
    engine: true,
    mapping: 'section',
  }),
  format: row(word('format', WORDS.format), 'csv, tsv, json, ndjson, xlsx, parquet', {
    short: 'f',
    engine: true,
    mapping: 'top',
  }),
  delimiter: fact(
    text('text', {
      pattern: /^[^\r\n\0"]+$/,
      form: 'must be one character or several, without quotes and line ends',
    }),
    'delimiter of a CSV: one character or several, tab, or a code such as \\x01',
    { otherwise: 'detected', import: true },
  ),
  sheet: fact(text('sheet'), 'sheet of a workbook: its name, or its number from 1', {
    otherwise: 'the first that is not hidden',
  }),
  encoding: fact(text('name'), 'encoding of the text, such as windows-1252', {
    otherwise: 'UTF-8, or UTF-16 with BOM',
    import: true,
  }),
  zone: rule(ZONE_TYPE, 'time zone of dates without an offset, for types that name none', { import: true }),
  quote: fact(text('char'), 'quote of a CSV: one character, or none where quotes are text', {
    otherwise: '"',
  }),
  escape: fact(text('char'), 'character that makes a quote inside quotes text, such as a backslash', {
    otherwise: 'the quote, doubled',
  }),
  comment: fact(text('prefix'), 'leave out the lines of a CSV that begin with this'),
  skipLines: fact(countType(), 'lines to leave out above the header of a CSV, such as a title', {
    default: 0,
  }),
  lenientQuotes: fact(FLAG, 'take text after a closing quote as text, instead of rejecting the row', {
    default: false,
  }),
  shortRows: fact(
    word('how', WORDS.shortRows),
    'CSV rows with fewer cells than the header: reject, or pad with empty cells',
    { otherwise: 'reject' },
  ),
  excelText: fact(FLAG, 'read cells like ="0012" as their text', { default: false }),
  renameDuplicates: fact(FLAG, 'number columns that have the same name: name, name_2', { default: false }),
  jsonPath: fact(
    text('key.key'),
    'path to the items of a JSON file, unless at the top or under companies or users',
  ),
  roundNumbers: fact(FLAG, 'round JSON numbers that a double cannot hold, instead of rejecting their rows', {
    default: false,
    import: true,
  }),
  userId: fact(COLUMN, "column of a user's identifier", { otherwise: 'user_id', complete: 'columns' }),
  companyId: rule(COLUMN, "column of a company's identifier, and of a user's company", {
    otherwise: 'company_id',
    complete: 'columns',
    engine: true,
  }),
  maxCell: numberSetting('maxCellBytes', 'longest cell to accept; a CSV header may be up to 4MiB'),
  maxColumns: numberSetting('maxColumns', 'the most columns of a file, and keys of a JSON item'),
  maxDepth: numberSetting('maxDepth', 'the most levels of nesting in a JSON value'),
} as const satisfies Table;

/** Which rows are used. */
export const SELECTING = {
  where: row(CONDITION_TYPE, 'take matching rows only (or column!=text)', {
    repeatable: true,
    complete: 'column=',
    commands: ['import', 'resume'],
    engine: true,
  }),
  limit: row(countType(1), 'take the first n rows of each kind', { engine: true }),
} as const satisfies Table;

/** How columns and values are mapped. */
export const COLUMNS = {
  mapping: row(
    path('file'),
    'columns, types, and format from a file that `profiles inspect --write-mapping` makes',
    { short: 'm', repeatable: true },
  ),
  map: row(pair('column=key', 1), 'send a column under another key', {
    repeatable: true,
    distinct: true,
    complete: 'column=',
  }),
  include: rule(COLUMN, 'send only these columns as metadata', { repeatable: true, complete: 'columns' }),
  exclude: row(COLUMN, 'leave a column out', { repeatable: true, complete: 'columns' }),
  type: row(pair('column=type'), 'such as money or date:MM/dd/yyyy; *=string for all', {
    repeatable: true,
    distinct: true,
    complete: 'column=',
  }),
  set: row(pair('key=value'), 'add a key to every item', {
    repeatable: true,
    distinct: true,
    commands: ['import', 'inspect', 'resume', 'identify company', 'identify user'],
    mapping: 'section',
  }),
  empty: rule(word('how', WORDS.empty), 'what an empty cell becomes: omit, null, or string', {
    otherwise: NO_RULES.empty,
    import: true,
  }),
  keys: rule(
    word('style', WORDS.keys),
    'how columns without --map become keys: as-is, snake_case, or camelCase',
    { otherwise: 'as-is', import: true },
  ),
  null: rule(text('text'), 'a text that counts as an empty cell, such as NULL or n/a', { repeatable: true }),
  trim: rule(FLAG, 'remove white space and invisible characters around cells', {
    default: false,
    import: true,
  }),
  allowId: rule(text('text'), 'accept an identifier that looks like a missing value, such as NULL', {
    repeatable: true,
  }),
} as const satisfies Table;
