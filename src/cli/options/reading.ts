/** Options for how files are read, which rows are used, and how columns are mapped. */
import { NO_RULES } from '../../engine/mapping-rules.js';
import { WORDS } from '../../engine/options.js';
import { engineNumber, type Table } from './option.js';
import { CONDITION_TYPE, countType, FLAG, pair, path, text, word } from './types.js';

const COLUMN = text('column');

/** How files are read. */
export const READING = {
  kind: {
    short: 'k',
    type: word('kind', WORDS.kind),
    summary: 'companies or users',
    otherwise: 'by the columns',
    sets: 'kind',
    mapping: true,
  },
  id: {
    type: COLUMN,
    summary: 'identifier',
    otherwise: 'by the columns',
    complete: 'columns',
    sets: 'id',
    mapping: true,
  },
  format: {
    short: 'f',
    type: word('format', WORDS.format),
    summary: 'csv, tsv, json, ndjson, xlsx, parquet',
    sets: 'format',
    mapping: true,
  },
  delimiter: {
    tier: 2,
    type: text('text', {
      pattern: /^[^\r\n\0"]+$/,
      form: 'must be one character or several, without quotes and line ends',
    }),
    summary: 'delimiter of a CSV: one character or several, tab, or a code such as \\x01',
    otherwise: 'detected',
    config: 'import.delimiter',
    sets: 'delimiter',
    mapping: true,
  },
  sheet: {
    tier: 2,
    type: text('sheet'),
    summary: 'sheet of a workbook: its name, or its number from 1',
    otherwise: 'the first that is not hidden',
    sets: 'sheet',
    mapping: true,
  },
  encoding: {
    tier: 2,
    type: text('name'),
    summary: 'encoding of the text, such as windows-1252',
    otherwise: 'UTF-8, or UTF-16 with BOM',
    config: 'import.encoding',
    sets: 'encoding',
    mapping: true,
  },
  quote: {
    tier: 2,
    type: text('char'),
    summary: 'quote of a CSV: one character, or none where quotes are text',
    otherwise: '"',
    sets: 'quote',
    mapping: true,
  },
  escape: {
    tier: 2,
    type: text('char'),
    summary: 'character that makes a quote inside quotes text, such as a backslash',
    otherwise: 'the quote, doubled',
    sets: 'escape',
    mapping: true,
  },
  comment: {
    tier: 2,
    type: text('prefix'),
    summary: 'leave out the lines of a CSV that begin with this',
    sets: 'comment',
    mapping: true,
  },
  skipLines: {
    tier: 2,
    type: countType(),
    default: 0,
    summary: 'lines to leave out above the header of a CSV, such as a title',
    sets: 'skipLines',
    mapping: true,
  },
  lenientQuotes: {
    tier: 2,
    type: FLAG,
    default: false,
    summary: 'take text after a closing quote as text, instead of rejecting the row',
    sets: 'lenientQuotes',
    mapping: true,
  },
  shortRows: {
    tier: 2,
    type: word('how', WORDS.shortRows),
    summary:
      'what to do with CSV rows that have fewer cells than the header: reject, or pad with empty cells',
    otherwise: 'reject',
    sets: 'shortRows',
    mapping: true,
  },
  excelText: {
    tier: 2,
    type: FLAG,
    default: false,
    summary: 'read cells like ="0012" as their text',
    sets: 'excelText',
    mapping: true,
  },
  renameDuplicates: {
    tier: 2,
    type: FLAG,
    default: false,
    summary: 'number columns that have the same name: name, name_2',
    sets: 'renameDuplicates',
    mapping: true,
  },
  jsonPath: {
    tier: 2,
    type: text('key.key'),
    summary: 'path to the items of a JSON file that are not at the top level or under companies or users',
    sets: 'jsonPath',
    mapping: true,
  },
  roundNumbers: {
    tier: 2,
    type: FLAG,
    default: false,
    summary: 'round JSON numbers that a double cannot hold exactly, instead of rejecting their rows',
    config: 'import.round_numbers',
    sets: 'roundNumbers',
    mapping: true,
  },
  userId: {
    tier: 2,
    type: COLUMN,
    summary: "column of a user's identifier, in the files that have it",
    otherwise: 'user_id',
    complete: 'columns',
    sets: 'userId',
    mapping: true,
  },
  companyId: {
    tier: 2,
    type: COLUMN,
    summary: "column of the company: a company's identifier, and a user's company, in the files that have it",
    otherwise: 'company_id',
    complete: 'columns',
    sets: 'companyId',
    mapping: true,
  },
  maxCell: {
    ...engineNumber('maxCellBytes'),
    summary: 'longest cell to accept; a CSV header may be up to 4MiB',
    config: 'import.max_cell',
    flag: false,
  },
} as const satisfies Table;

/** Which rows are used. */
export const SELECTING = {
  where: {
    type: CONDITION_TYPE,
    summary: 'take matching rows only (or column!=text)',
    repeatable: true,
    complete: 'column=',
    commands: ['import', 'resume'],
    sets: 'where',
  },
  limit: {
    type: countType(1),
    summary: 'take the first n rows of each kind',
    sets: 'limit',
  },
} as const satisfies Table;

/** How columns and values are mapped. */
export const COLUMNS = {
  mapping: {
    short: 'm',
    type: path('file'),
    summary: 'columns, types, and format from a file that `profiles inspect --write-mapping` makes',
    repeatable: true,
  },
  map: {
    type: pair('column=key', 1),
    summary: 'send a column under another key',
    repeatable: true,
    distinct: true,
    complete: 'column=',
  },
  include: {
    tier: 2,
    type: COLUMN,
    summary: 'send only these columns as metadata',
    repeatable: true,
    complete: 'columns',
    mapping: true,
  },
  exclude: { type: COLUMN, summary: 'leave a column out', repeatable: true, complete: 'columns' },
  type: {
    type: pair('column=type'),
    summary: 'such as money or date:MM/dd/yyyy; *=string for all',
    repeatable: true,
    distinct: true,
    complete: 'column=',
  },
  set: {
    type: pair('key=value'),
    summary: 'add a key to every item',
    repeatable: true,
    distinct: true,
    commands: ['import', 'inspect', 'resume', 'identify company', 'identify user'],
    mapping: true,
  },
  empty: {
    tier: 2,
    type: word('how', WORDS.empty),
    summary: 'what an empty cell becomes: omit, null, or string',
    otherwise: NO_RULES.empty,
    config: 'import.empty',
    mapping: true,
  },
  keys: {
    tier: 2,
    type: word('style', WORDS.keys),
    summary: 'how columns without --map become keys: as-is, snake_case, or camelCase',
    otherwise: 'as-is',
    config: 'import.keys',
    mapping: true,
  },
  null: {
    tier: 2,
    type: text('text'),
    summary: 'a text that counts as an empty cell, such as NULL or n/a',
    repeatable: true,
    mapping: true,
  },
  trim: {
    tier: 2,
    type: FLAG,
    default: false,
    summary: 'remove white space and invisible characters around cells',
    config: 'import.trim',
    mapping: true,
  },
  allowId: {
    tier: 2,
    type: text('text'),
    summary: 'accept an identifier that looks like a missing value, such as NULL',
    repeatable: true,
    mapping: true,
  },
} as const satisfies Table;
