/** Groups rejected rows by file, column and cause (contract §3 "Rejects"), in bounded memory. */
import type { CellType, RejectedRow, RejectionCause } from '../model.js';
import type { Problem } from '../problems.js';
import {
  beyondLimit,
  isAfterQuote,
  isBehindBackslash,
  isShortRow,
  limitIn,
  type OpenedInput,
  quoted,
} from '../read/index.js';
import { notReplaced, type RequestRecord, rangesOf } from '../state/requests.js';
import { fits, isTrimmable, isWider, type OtherType, otherTypes } from './other-types.js';

/** The most causes that are counted separately; the rows of all others are counted together. */
const MOST_CAUSES = 200;
/** The longest cause, in characters: messages of the service may be long. */
const LONGEST = 300;
/** The most characters, or markers of missing values, that one cause lists. */
const MOST_CHARACTERS = 5;

interface Group {
  cause: RejectionCause;
  /** Characters that numbers of the type cannot contain. Null for other causes. */
  characters: Set<string> | null;
  /** The type that its cells do not fit. */
  type: CellType | undefined;
  /** Types that all its cells so far would fit, the likeliest first. */
  types: OtherType[];
  advice: Problem | undefined;
  /** Whether the cells are those of a workbook. */
  isWorkbook: boolean;
  /** Whether all its cells so far would fit the type without surrounding white space. */
  trims: boolean;
}

export class CauseTotals {
  readonly #groups = new Map<string, Group>();
  #others: RejectionCause | null = null;
  /**
   * The column of the previous row. Tried first, because rows with the same cause often follow each other.
   */
  #column: string | null = null;

  /** Adds a row that the plan rejected. */
  add(input: OpenedInput, row: Rejected & Pick<RejectedRow, 'line'>): void {
    const described = this.#describe(input, row);
    const at = `${input.format === 'json' ? 'item' : 'line'} ${row.line}`;
    this.#count(input.path, described, 1, row.line, at);
  }

  /** Adds rows that the service refused for good. @param paths of the run's inputs */
  addRefused(records: readonly RequestRecord[], paths: readonly string[]): void {
    for (const record of notReplaced(records)) {
      if (record.state !== 'rejected') continue;
      const reason = record.reason ?? 'refused by the service';
      for (const { input, rows, first_line } of rangesOf(record)) {
        if (rows > 0)
          this.#count(paths[input]!, { column: null, reason }, rows, first_line, `line ${first_line}`);
      }
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

  #count(file: string, described: Described, rows: number, line: number, at: string): void {
    const { column, reason, cell, type, characters, isWorkbook = false } = described;
    const key = JSON.stringify([file, column, characters ? [type] : withoutRequest(reason)]);
    let group = this.#groups.get(key);
    if (!group) {
      const cause = {
        file,
        column,
        reason,
        rows: 0,
        first_line: line,
        hint: null,
        at,
        example: cell ? quoted(cell) : null,
      };
      if (this.#groups.size >= MOST_CAUSES) {
        this.#others ??= { ...cause, column: null, reason: 'other reasons', example: null };
        this.#others.rows += rows;
        return;
      }
      group = {
        cause,
        characters: characters ? new Set() : null,
        type,
        types: type === undefined || cell === undefined ? [] : otherTypes(type, isWorkbook),
        advice: described.advice,
        isWorkbook,
        trims: type !== undefined && cell !== undefined,
      };
      this.#groups.set(key, group);
    }
    group.cause.rows += rows;
    if (described.advice?.code === 'missing_value' && group.advice?.code === 'missing_value') {
      const texts = [...new Set([...group.advice.texts, ...described.advice.texts])];
      group.advice = { ...group.advice, texts: texts.slice(0, MOST_CHARACTERS) };
    }
    if (described.advice?.code === 'over_limit' && group.advice?.code === 'over_limit') {
      const { needed } = group.advice;
      group.advice = { ...group.advice, needed: Math.max(needed, described.advice.needed) };
    }
    for (const character of characters ?? []) {
      if (group.characters!.size <= MOST_CHARACTERS) group.characters!.add(character);
    }
    if (group.trims) group.trims = isTrimmable(cell ?? '', type!);
    if (group.types.length > 0) group.types = group.types.filter((other) => fits(cell ?? '', other));
  }

  /** Splits the reason of a rejected row into column, cause, and cell. */
  #describe(input: OpenedInput, { reason, original, cause }: Rejected): Described {
    const cells = 'cells' in original ? original.cells : null;
    const item = cells === null ? String('item' in original && original.item) : null;
    const column = cause?.column ?? this.#columnOf(reason, input, item);
    const index = column === null ? -1 : input.columns.indexOf(column);
    const cell = cells && index >= 0 ? cells[index] : undefined;
    let rest = column === null ? reason : reason.slice(column.length).replace(/^:? /, '');
    if (cell) rest = rest.replace(`${quoted(cell)} `, '');
    // The type may contain digits, such as those of `number:1.234,56`. They are not values.
    const ofType = cause && ` of type ${cause.type}`;
    rest =
      beyondLimit(rest) ??
      (ofType ? rest.split(ofType).map(withoutValues).join(ofType) : withoutValues(rest));
    rest = rest.slice(0, LONGEST);
    const advice = adviceFor(reason, column === input.companyIdColumn);
    if (advice?.code === 'missing_value') rest = 'holds a null marker';
    // The line of the quote is a value of its row, which begins on the line that is named.
    if (isAfterQuote(reason)) rest = rest.replace(/, on line .*$/, '');
    const described = {
      column,
      reason: rest,
      advice,
      isWorkbook: input.format === 'xlsx',
      ...(cell && { cell }),
      ...(cause && { type: cause.type }),
    };
    if (cause?.code !== 'characters' || !cause.characters?.length) return described;
    // A cell with letters is a word. Listing its letters would not help.
    if (cause.characters.some((character) => /\p{L}/u.test(character))) {
      return { ...described, reason: `is not of type ${cause.type}` };
    }
    return { ...described, characters: cause.characters };
  }

  /** The column that a reason begins with; null if none. For JSON, a field of the item. */
  #columnOf(reason: string, input: OpenedInput, item: string | null): string | null {
    const begins = (column: string): boolean =>
      reason.startsWith(column) && (reason.startsWith(': ', column.length) || reason[column.length] === ' ');
    if (
      this.#column !== null &&
      begins(this.#column) &&
      (item !== null || input.columns.includes(this.#column))
    ) {
      return this.#column;
    }
    const named = [...input.columns, input.idColumn, input.companyIdColumn ?? ''].filter(
      (column) => column !== '' && begins(column),
    );
    // `name` and `name: full` may both be columns.
    const [longest] = named.sort((a, b) => b.length - a.length);
    const field = /^([^:]{1,100}): /.exec(reason)?.[1];
    const ofItem =
      item !== null && field !== undefined && item.includes(JSON.stringify(field)) ? field : null;
    this.#column = longest ?? ofItem;
    return this.#column;
  }
}

type Rejected = Pick<RejectedRow, 'reason' | 'original' | 'cause'>;

interface Described {
  column: string | null;
  reason: string;
  /** The cell, if it is known. */
  cell?: string;
  /** The type that the cell does not fit, and the characters that the type does not allow. */
  type?: CellType;
  characters?: readonly string[];
  advice?: Problem | undefined;
  isWorkbook?: boolean;
}

/** Advice for a reason that is not about a type. @param optional whether the value may be left out */
function adviceFor(reason: string, optional: boolean): Problem | undefined {
  if (isBehindBackslash(reason)) return { code: 'backslash_escapes' };
  if (isAfterQuote(reason)) return { code: 'stray_quotes' };
  if (isShortRow(reason)) return { code: 'short_rows' };
  if (/ cannot be represented exactly as a number; /.test(reason)) return { code: 'inexact_number' };
  const limit = limitIn(reason);
  if (limit) return limit;
  const [, text] = / is "([^"]*)", which stands for a missing value$/.exec(reason) ?? [];
  return text === undefined ? undefined : { code: 'missing_value', texts: [text], optional };
}

function causeOf({ cause, characters, types, advice, trims, type: of, isWorkbook }: Group): RejectionCause {
  if (trims) return { ...cause, problem: { code: 'white_space' } };
  const type = types[0]?.type;
  const isPercent = type === 'number' && of?.startsWith('percent');
  const problem: Problem | undefined =
    type === undefined || cause.column === null
      ? advice
      : {
          code: 'cells_of_other_type',
          column: cause.column,
          type,
          ...(isPercent && { isPercent: true as const }),
          ...(isWorkbook && { isWorkbook: true as const }),
          ...(isWider(of!, type) && { isWider: true as const }),
        };
  return {
    ...cause,
    ...(characters && { reason: `contains ${alternatives([...characters])}` }),
    ...(problem && { problem }),
    ...(type !== undefined && { hint: `the cells are of type ${type}` }),
  };
}

/** Text such as `"$" or ","`. Characters beyond `MOST_CHARACTERS` become "other characters". */
function alternatives(characters: readonly string[]): string {
  const named = characters.slice(0, MOST_CHARACTERS).map((character) => JSON.stringify(character));
  if (characters.length > MOST_CHARACTERS) named.push('other characters');
  const last = named.pop()!;
  return named.length === 0 ? last : `${named.join(', ')} or ${last}`;
}

/** Removes the request id, which differs for each refusal. The cause shows the id of its first refusal. */
const withoutRequest = (reason: string): string => reason.replace(/ \(x-request-id [^()]*\)/g, '');

/** Removes values, which differ from row to row. The number of cells in a short or long row is kept. */
function withoutValues(text: string): string {
  const quotes = text.replace(/"[^"]{0,61}"/g, '"…"');
  return /cells?, the header has/.test(quotes) ? quotes : quotes.replace(/-?\d[\d.eE+-]*/g, '…');
}
