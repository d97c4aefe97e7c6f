/** Options for how files are read, which rows are used, and how columns are mapped. */
import { NO_RULES } from '../../engine/mapping-rules.js';
import { WORDS } from '../../engine/options.js';
import { fact, numberSetting, row, rule, type Table } from './option.js';
import { CONDITION_TYPE, countType, FLAG, pair, path, text, word, ZONE_TYPE } from './types.js';

const COLUMN = text('column');

/** How files are read. */
export const READING = {
  kind: row(word('kind', WORDS.kind), {
    short: 'k',
    otherwise: 'by the columns',
    engine: true,
    mapping: 'top',
  }),
  id: row(COLUMN, { otherwise: 'by the columns', complete: 'columns', engine: true, mapping: 'section' }),
  format: row(word('format', WORDS.format), { short: 'f', engine: true, mapping: 'top' }),
  delimiter: fact(
    text('text', {
      pattern: /^[^\r\n\0"]+$/,
      form: 'must be one character or several, without quotes and line ends',
    }),
    { otherwise: 'detected', import: true },
  ),
  sheet: fact(text('sheet'), { otherwise: 'the first that is not hidden' }),
  encoding: fact(text('name'), { otherwise: 'UTF-8, or UTF-16 with BOM', import: true }),
  zone: rule(ZONE_TYPE, { import: true }),
  quote: fact(text('char'), { otherwise: '"' }),
  escape: fact(text('char'), { otherwise: 'the quote, doubled' }),
  comment: fact(text('prefix')),
  skipLines: fact(countType(), { default: 0 }),
  lenientQuotes: fact(FLAG, { default: false }),
  shortRows: fact(word('how', WORDS.shortRows), { otherwise: 'reject' }),
  excelText: fact(FLAG, { default: false }),
  renameDuplicates: fact(FLAG, { default: false }),
  jsonPath: fact(text('key.key')),
  roundNumbers: fact(FLAG, { default: false, import: true }),
  userId: fact(COLUMN, { otherwise: 'user_id', complete: 'columns' }),
  companyId: rule(COLUMN, { otherwise: 'company_id', complete: 'columns', engine: true }),
  maxCell: numberSetting('maxCellBytes'),
  maxColumns: numberSetting('maxColumns'),
  maxDepth: numberSetting('maxDepth'),
} as const satisfies Table;

/** Which rows are used. */
export const SELECTING = {
  where: row(CONDITION_TYPE, {
    repeatable: true,
    complete: 'column=',
    commands: ['import', 'resume'],
    engine: true,
  }),
  limit: row(countType(1), { engine: true }),
} as const satisfies Table;

/** How columns and values are mapped. */
export const COLUMNS = {
  mapping: row(path('file'), { short: 'm', repeatable: true }),
  map: row(pair('column=key', 1), { repeatable: true, distinct: true, complete: 'column=' }),
  include: rule(COLUMN, { repeatable: true, complete: 'columns' }),
  exclude: row(COLUMN, { repeatable: true, complete: 'columns' }),
  type: row(pair('column=type'), { repeatable: true, distinct: true, complete: 'column=' }),
  set: row(pair('key=value'), {
    repeatable: true,
    distinct: true,
    commands: ['import', 'inspect', 'resume', 'identify company', 'identify user'],
    mapping: 'section',
  }),
  empty: rule(word('how', WORDS.empty), { otherwise: NO_RULES.empty, import: true }),
  keys: rule(word('style', WORDS.keys), { otherwise: 'as-is', import: true }),
  null: rule(text('text'), { repeatable: true }),
  trim: rule(FLAG, { default: false, import: true }),
  allowId: rule(text('text'), { repeatable: true }),
} as const satisfies Table;
