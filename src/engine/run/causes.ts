/** Groups rejected rows by file, column and cause (contract §3 "Rejects"), in bounded memory. */

import { rangesOf } from '../model/requests.js';
import type { RunRequests } from '../model/run-requests.js';
import type { CellType, RejectedRow, RejectionCause } from '../model.js';
import type { Problem } from '../problems.js';
import {
  BOOLEAN_TYPES,
  type Converter,
  converterOf,
  hasLostZeros,
  isAfterQuote,
  isBehindBackslash,
  isShortRow,
  type OpenedInput,
  partsOf,
  quoted,
  trimmed,
} from '../read/index.js';

/** The most causes that are counted separately; the rows of all others are counted together. */
const MOST_CAUSES = 200;
/** The longest cause, in characters: messages of the service may be long. */
const LONGEST = 300;
/** The most characters, or markers of missing values, that one cause lists. */
const MOST_LISTED = 5;

type Rejected = Pick<RejectedRow, 'reason' | 'original' | 'cause'>;

/** What is wrong with a row. */
interface Described {
  column: string | null;
  reason: string;
  /** The cell, if it is known. */
  cell?: string | undefined;
  /** JSON: a value as the reason of a row has it. */
  value?: string | undefined;
  /** The type that the cell does not fit. */
  type?: CellType | undefined;
  /** Characters that numbers of the type cannot contain. Absent for other causes. */
  characters?: readonly string[];
  advice?: Problem | undefined;
  /** Whether the cells are those of a workbook. */
  isWorkbook?: boolean;
}

/** Rows of one cause. */
interface Group extends Described {
  cause: RejectionCause;
  /** Types that all its cells so far would fit, the likeliest first. */
  types: OtherType[];
  /** Whether all its cells so far would fit the type without surrounding white space. */
  trims: boolean;
}

export class CauseTotals {
  readonly #groups = new Map<string, Group>();
  #others: RejectionCause | null = null;
  /** The names of an input's columns. */
  readonly #columns = new WeakMap<OpenedInput, ReadonlySet<string>>();

  /** Adds a row that the plan rejected. */
  add(input: OpenedInput, row: Rejected & Pick<RejectedRow, 'line'>): void {
    const at = `${input.format === 'json' ? 'item' : 'line'} ${row.line}`;
    this.#count(input.path, describe(row, input, this.#columnsOf(input)), 1, row.line, at);
  }

  /** Adds rows that the service refused for good. @param paths of the run's inputs */
  addRefused({ ends }: RunRequests, paths: readonly string[]): void {
    for (const record of ends) {
      if (record.state !== 'rejected') continue;
      const described = { column: null, reason: record.reason ?? 'refused by the service' };
      for (const { input, rows, first_line: line } of rangesOf(record))
        if (rows > 0) this.#count(paths[input]!, described, rows, line, `line ${line}`);
    }
  }

  /** All causes, those with the most rows first. Causes beyond `MOST_CAUSES` come last, as one. */
  list(): RejectionCause[] {
    const causes = [...this.#groups.values()].map(causeOf);
    causes.sort(
      (a, b) => b.rows - a.rows || (a.file < b.file ? -1 : a.file > b.file ? 1 : a.first_line - b.first_line),
    );
    return this.#others ? [...causes, { ...this.#others }] : causes;
  }

  #columnsOf(input: OpenedInput): ReadonlySet<string> {
    const { columns, idColumn, companyIdColumn } = input;
    const names = this.#columns.get(input) ?? new Set([...columns, idColumn, companyIdColumn ?? '']);
    this.#columns.set(input, names);
    return names;
  }

  #count(file: string, described: Described, rows: number, line: number, at: string): void {
    const { column, reason, cell = '', value = null, type, characters } = described;
    const key = JSON.stringify([file, column, characters ? [type] : withoutRequest(reason)]);
    const before = this.#groups.get(key);
    if (before) {
      before.cause.rows += rows;
      before.advice = joined(before.advice, described.advice);
      if (characters)
        before.characters = [...new Set([...before.characters!, ...characters])].slice(0, MOST_LISTED + 1);
      if (before.trims) before.trims = isTrimmable(cell, type!);
      if (before.types.length > 0) before.types = before.types.filter((other) => fits(cell, other));
      return;
    }
    const example = cell ? quoted(cell) : value;
    const cause = { file, column, reason, rows, first_line: line, hint: null, at, example };
    if (this.#groups.size < MOST_CAUSES) {
      const isCell = type !== undefined && described.cell !== undefined;
      const others = isCell ? otherTypes(type, described.isWorkbook === true) : [];
      const types = others.filter((other) => fits(cell, other));
      this.#groups.set(key, { ...described, cause, types, trims: isCell && isTrimmable(cell, type) });
    } else if (this.#others) this.#others.rows += rows;
    else this.#others = { ...cause, column: null, reason: 'other reasons', example: null };
  }
}

/** Splits the reason of a rejected row into column, cause, and cell. @param names of the columns */
function describe(
  { reason, original, cause }: Rejected,
  input: OpenedInput,
  names: ReadonlySet<string>,
): Described {
  const isCells = 'cells' in original;
  const column = cause?.column ?? columnOf(reason, names, isCells ? null : String(original.item));
  const index = column === null ? -1 : input.columns.indexOf(column);
  const cell = isCells && index >= 0 ? original.cells[index] : undefined;
  let rest = column === null ? reason : reason.slice(column.length).replace(/^:? /, '');
  if (cell) rest = rest.replace(`${quoted(cell)} `, '');
  // The type may contain digits, such as those of `number:1.234,56`. They are not values.
  const ofType = cause && ` of type ${cause.type}`;
  const [value] = (!isCells && !KEEPS_NUMBERS.test(rest) && VALUE.exec(rest)) || [];
  rest = ofType ? rest.split(ofType).map(withoutValues).join(ofType) : withoutValues(rest);
  // The example says it.
  if (column !== null && value !== undefined) rest = rest.replace(/^"?…"? /, '');
  const advice = adviceFor(reason, column === input.companyIdColumn);
  if (advice?.code === 'missing_value') rest = 'holds a null marker';
  if (advice?.code === 'zeros_lost') rest = 'has lost the zeros in front';
  // The line of the quote is a value of its row, which begins on the line that is named.
  if (isAfterQuote(reason)) rest = rest.replace(/, on line .*$/, '');
  const isWorkbook = input.format === 'xlsx';
  const described = {
    column,
    reason: rest.slice(0, LONGEST),
    advice,
    isWorkbook,
    cell: cell || undefined,
    value,
  };
  if (!cause) return described;
  const { type, code, characters = [] } = cause;
  if (code !== 'characters' || characters.length === 0) return { ...described, type };
  // A cell with letters is a word. Listing its letters would not help.
  const isWord = characters.some((character) => /\p{L}/u.test(character));
  return { ...described, type, ...(isWord ? { reason: `is not of type ${type}` } : { characters }) };
}

/** The column that a reason begins with, the longest if several do; null if none. For JSON, a field of the item. */
function columnOf(reason: string, names: ReadonlySet<string>, item: string | null): string | null {
  let longest: string | null = null;
  for (let end = reason.indexOf(' '); end > 0; end = reason.indexOf(' ', end + 1)) {
    const name = reason.slice(0, end);
    const named = [name, ...(name.endsWith(':') ? [name.slice(0, -1)] : [])].find((one) => names.has(one));
    longest = named ?? longest;
  }
  const field = /^([^:]{1,100}): /.exec(reason)?.[1];
  return longest ?? (field !== undefined && item?.includes(JSON.stringify(field)) ? field : null);
}

/** Advice for a reason that is not about a type. @param optional whether the value may be left out */
function adviceFor(reason: string, optional: boolean): Problem | undefined {
  if (isBehindBackslash(reason)) return { code: 'backslash_escapes' };
  if (isAfterQuote(reason)) return { code: 'stray_quotes' };
  if (isShortRow(reason)) return { code: 'short_rows' };
  if (hasLostZeros(reason)) return { code: 'zeros_lost' };
  if (/ cannot be represented exactly as a number; /.test(reason)) return { code: 'inexact_number' };
  const [, text] = / is "([^"]*)", which stands for a missing value$/.exec(reason) ?? [];
  return text === undefined ? undefined : { code: 'missing_value', texts: [text], optional };
}

/** The advice for rows of which some had other advice: for all of them. */
function joined(before: Problem | undefined, now: Problem | undefined): Problem | undefined {
  if (before?.code === 'missing_value' && now?.code === 'missing_value')
    return { ...before, texts: [...new Set([...before.texts, ...now.texts])].slice(0, MOST_LISTED) };
  return before;
}

function causeOf({ cause, characters, types, advice, trims, type: of, isWorkbook }: Group): RejectionCause {
  if (trims) return { ...cause, problem: { code: 'white_space' } };
  const type = types[0]?.type;
  const { column } = cause;
  const problem: Problem | undefined =
    type === undefined || column === null
      ? advice
      : {
          ...{ code: 'cells_of_other_type', column, type },
          ...(type === 'number' && of?.startsWith('percent') && { isPercent: true as const }),
          ...(isWorkbook && { isWorkbook: true as const }),
          ...(isWider(of!, type) && { isWider: true as const }),
        };
  return {
    ...cause,
    ...(characters && { reason: `contains ${alternatives(characters)}` }),
    ...(problem && { problem }),
    ...(type !== undefined && { hint: `the cells are of type ${type}` }),
  };
}

/** Text such as `"$" or ","`. Characters beyond `MOST_LISTED` become "other characters". */
function alternatives(characters: readonly string[]): string {
  const named = characters.slice(0, MOST_LISTED).map((character) => JSON.stringify(character));
  if (characters.length > MOST_LISTED) named.push('other characters');
  const last = named.pop()!;
  return named.length === 0 ? last : `${named.join(', ')} or ${last}`;
}

/** Removes the request id, which differs for each refusal. The cause shows the id of its first refusal. */
const withoutRequest = (reason: string): string => reason.replace(/ \(x-request-id [^()]*\)/g, '');

/** What `withoutValues` removes. */
const VALUE = /"[^"]{0,61}"|-?\d[\d.eE+-]*/;

/** Reasons with numbers that are kept: those of cells in a short or long row, and limits. */
const KEEPS_NUMBERS = /cells?, the header has|has more than/;

/** Removes values, which differ from row to row. */
function withoutValues(text: string): string {
  const quotes = text.replace(/"[^"]{0,61}"/g, '"…"');
  return KEEPS_NUMBERS.test(quotes) ? quotes : quotes.replace(/-?\d[\d.eE+-]*/g, '…');
}

interface OtherType {
  type: CellType;
  converter: Converter | null;
}

/** Whether a type reads every cell of another one as that does. */
const isWider = (of: CellType, type: CellType): boolean =>
  (of === 'integer' && type === 'number') ||
  (['integer', 'number'].includes(of) && ['number:1,234.56', 'money'].includes(type));

const STYLES = ['number:1,234.56', 'number:1.234,56', 'number:1 234,56', "number:1'234.56"] as const;
const NUMBERS: readonly CellType[] = ['percent', ...STYLES, 'money', 'money:1.234,56'];

/** Other types to suggest for cells that do not fit a type, the simplest first, and text last. */
const OTHERS: Readonly<Record<string, readonly CellType[]>> = {
  integer: ['number', ...NUMBERS, 'string'],
  number: [...NUMBERS, 'string'],
  money: ['money:1.234,56', 'string'],
  percent: ['percent:1.234,56', 'number', 'string'],
  boolean: ['boolean', ...BOOLEAN_TYPES, 'string'],
  date: [],
  datetime: [],
  string: [],
};

/** Dates that fit no other type get no suggestion: such cells must be fixed in the file. */
function otherTypes(type: CellType, isWorkbook: boolean): OtherType[] {
  const { name, zone } = partsOf(type);
  // Booleans and dates of a workbook, whose texts look different.
  const asWorkbook: Readonly<Record<string, readonly CellType[]>> = {
    boolean: ['boolean', 'string'],
    date: ['date:iso'],
    datetime: [`datetime:iso${zone === null ? '' : `@${zone}`}`],
  };
  const others = (isWorkbook && asWorkbook[name]) || (OTHERS[name] ?? ['string']);
  return others.map((other) => ({ type: other, converter: converterOf(other) }));
}

/** Whether a cell fits a type without surrounding white space. */
function isTrimmable(cell: string, type: CellType): boolean {
  const text = trimmed(cell);
  return text !== cell && converterOf(type)?.json(text) != null;
}

/** Text has no converter: every cell fits. A number would lose the zeros in front of `02139`. */
const fits = (text: string, { converter }: OtherType): boolean =>
  converter === null || (!/^-?0\d/.test(text) && converter.json(text) !== null);
