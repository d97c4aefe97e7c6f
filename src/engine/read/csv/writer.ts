/** Writes the items of the rows of a CSV or a sheet. Keys are encoded once, and cells are copied. */
import type { CellType } from '../../model.js';
import { scratch } from '../conversion/type.js';
import { type Converter, converterOf, misfit } from '../conversion/types.js';
import { BLANK, type RowWriter } from '../format.js';
import type { IdentifierCheck } from '../identifier.js';
import { beginItem, EMPTY, endItem, headOf } from '../item-text.js';
import { jsonString, membersOf, membersText } from '../json/text.js';
import { keyStyle } from '../mapping/rules.js';
import type { Role, Target } from '../mapping/targets.js';
import { hasSurplus, inputIdCheck, refusalAgain } from '../rejects-rows.js';
import { DOUBLED, ESCAPED, type Rows } from '../rows.js';
import { copy, type Fixed, fixed, type Output, QUOTE, writeFixed } from '../text/bytes.js';
import type { OpenedInput } from '../types.js';
import { quoted, type Refusal } from '../wording.js';
import { CsvRow } from './rows.js';

const REPEATED_HEADER = 'repeats the header';

/** A column whose cells become metadata. */
interface Member {
  index: number;
  target: Target;
  /** `,"key":` as it is sent. */
  key: Fixed;
  /** Whether its cells are JSON as they are. */
  isRaw: boolean;
  /** Null unless the column is pinned to a type that converts its text. */
  converter: Converter | null;
}

export class CsvWriter implements RowWriter {
  /** The row that was written or refused last, and whether its cells count for the types of their columns. */
  readonly row: CsvRow;
  isCounted = false;
  id = '';
  company = '';
  quotes = 0;
  readonly #input: OpenedInput;
  readonly #id: number;
  readonly #company: number;
  readonly #spread: number;
  readonly #isLower: { id: boolean; company: boolean };
  readonly #header: readonly string[];
  readonly #idName: string | undefined;
  readonly #markedName: string;
  readonly #head: string;
  readonly #members: readonly Member[];
  readonly #byKey: ReadonlyMap<string, Member>;
  readonly #constants: Fixed;
  /** JSON text of an empty cell; null if its key is left out. */
  readonly #empty: Fixed | null;
  /** At most as many bytes as there are in an item but those of cells. */
  readonly #around: number;
  readonly #check: IdentifierCheck;
  readonly #again: ReturnType<typeof refusalAgain> | null;
  readonly #styled: (name: string) => string;

  /** @param types of the columns, which the cells fit; null: as if each was text */
  constructor(input: OpenedInput, types: readonly CellType[] | null) {
    const { rules, targets } = input;
    const find = (role: Role): number => targets.findIndex((target) => target.role === role);
    this.row = new CsvRow(input);
    this.#input = input;
    [this.#id, this.#company, this.#spread] = [find('id'), find('company'), find('spread')];
    const isLower = (index: number): boolean => targets[index]?.pinned === 'lower';
    this.#isLower = { id: isLower(this.#id), company: isLower(this.#company) };
    this.#header = input.csv?.header ?? [];
    this.#idName = this.#header[this.#id];
    this.#markedName = `\uFEFF${this.#idName}`;
    this.#head = headOf(input.kind);
    this.#members = targets.flatMap((target, index): Member[] => {
      if (target.role !== 'metadata') return [];
      const converter = target.pinned && converterOf(target.pinned);
      const isRaw = types !== null && types[index] !== 'string';
      return [{ index, target, key: fixed(`,${jsonString(target.key!)}:`), isRaw, converter }];
    });
    this.#byKey = new Map(this.#members.map((member) => [member.target.key!, member]));
    this.#constants = fixed(membersText(input.constants));
    const empty = EMPTY[rules.empty];
    this.#empty = empty === null ? null : fixed(empty);
    const keys = this.#members.reduce((sum, { key }) => sum + key.length, 0);
    this.#around = keys + this.#constants.length + this.#members.length * 8 + 16;
    this.#check = inputIdCheck(input);
    this.#again = input.again ? refusalAgain(input.again, input.columns, this.#pads) : null;
    this.#styled = keyStyle(rules.keys);
  }

  get #pads(): boolean {
    return this.#input.csv?.shortRows === 'pad';
  }

  begin(batch: Rows): void {
    this.row.begin(batch);
  }

  original(number: number): { cells: string[] } {
    return { cells: this.row.original(number) };
  }

  write(number: number, out: Output): Refusal | null {
    const { row } = this;
    const unreadable = row.read(number);
    const reason = unreadable ?? this.append(out);
    // A row that is not sent still counts for the types of its columns: it may come back fixed.
    const isRow = unreadable === null && row.count === this.#input.targets.length;
    this.isCounted = isRow && reason !== BLANK && reason !== REPEATED_HEADER;
    return reason;
  }

  /** Appends the item of the row that is shown. @returns as `write` does */
  append(out: Output): Refusal | null {
    return this.#refusal() ?? this.#appendItem(out);
  }

  /**
   * Why the row cannot be sent, whatever is in its metadata; null if it can, `BLANK` if it is not a row. Pads a short row if
   * short rows are allowed.
   */
  #refusal(): Refusal | null {
    const { row } = this;
    const { columns, targets, idColumn, companyIdColumn, isRejects } = this.#input;
    const other = this.#again?.(row.texts());
    if (other) return other;
    if (row.count !== targets.length) {
      if (row.isEmptyFrom(0)) return BLANK;
      const isMore = isRejects ? hasSurplus(row.texts(), columns) : !row.isEmptyFrom(targets.length);
      const isWrong = row.count < targets.length ? !this.#pads : isMore;
      const cells = row.count === 1 ? 'cell' : 'cells';
      if (isWrong) return `has ${row.count} ${cells}, the header has ${targets.length}`;
      row.pad(targets.length);
    }
    if (row.isEmpty(this.#id)) return row.isEmptyFrom(0) ? BLANK : `${idColumn} is empty`;
    const id = row.text(this.#id);
    if (this.#repeatsHeader(id)) return REPEATED_HEADER;
    const company = this.#company < 0 ? '' : row.text(this.#company);
    this.id = this.#isLower.id ? id.toLowerCase() : id;
    this.company = this.#isLower.company ? company.toLowerCase() : company;
    return this.#check(id, idColumn) ?? (company === '' ? null : this.#check(company, companyIdColumn!));
  }

  /** As in concatenated files, also with a byte order mark, which `trim` takes, too. */
  #repeatsHeader(id: string): boolean {
    return (
      (id === this.#idName || id === this.#markedName) &&
      this.#header.every((name, index) => this.row.text(index).trim() === name.trim())
    );
  }

  #appendItem(out: Output): Refusal | null {
    const { row } = this;
    const { bytes, view, starts, ends, kinds, base } = row;
    const [members, empty] = [this.#members, this.#empty];
    const room = this.#around + ends[base + row.count - 1]! - starts[base]!;
    const open = beginItem(out, this.#head, this.id, this.company, room);
    let at = open;
    this.quotes = 0;
    for (let member = 0; member < members.length; member++) {
      const { index, key, isRaw, converter, target } = members[member]!;
      const start = starts[base + index]!;
      const end = ends[base + index]!;
      if (start === end && empty === null) continue;
      at = writeFixed(key, out.view, at);
      const kind = kinds[base + index]!;
      if (start === end) at = writeFixed(empty!, out.view, at);
      else if (converter !== null) {
        const cell = row.text(index);
        const json = converter.read(cell);
        if (json === null) return misfit(target.column, cell, target.pinned!, converter);
        at = json === '' ? writeScratch(out, at, room) : writeText(json, out, at, room);
      } else if (isRaw) {
        at = copy(view, start, end, out.view, at);
        this.quotes += 2;
      } else if ((kind & (ESCAPED | DOUBLED)) !== 0) {
        const text = bytes.toString('utf8', start, end);
        at = writeText(jsonString(kind & DOUBLED ? text.replaceAll('""', '"') : text), out, at, room);
      } else {
        out.bytes[at++] = QUOTE;
        at = copy(view, start, end, out.view, at);
        out.bytes[at++] = QUOTE;
      }
    }
    if (this.#spread >= 0 && !row.isEmpty(this.#spread)) {
      const spread = this.#spreadMembers(row.text(this.#spread));
      if (typeof spread === 'string') return spread;
      at = writeText(membersText(spread), out, at, room);
    }
    out.length = writeFixed(this.#constants, out.view, at);
    endItem(out, open);
    return null;
  }

  /** The members of a `metadata` cell, as keys and JSON texts; or why they cannot be sent. */
  #spreadMembers(cell: string): [key: string, json: string][] | string {
    const members = membersOf(cell, this.#input.roundNumbers);
    if (typeof members === 'string') return members;
    const keys = new Set<string>();
    const sent: [key: string, json: string][] = [];
    for (const [name, json] of members) {
      const key = this.#styled(name);
      if (keys.has(key)) return `two members of metadata both map to the key ${quoted(key)}`;
      keys.add(key);
      const beside = this.#byKey.get(key);
      if (beside && !(this.row.isEmpty(beside.index) && this.#input.rules.empty === 'omit')) {
        const { column } = beside.target;
        const where = column === key ? '' : ` (column ${quoted(column)})`;
        return `${quoted(key)} appears both beside metadata${where} and inside it`;
      }
      if (!this.#input.constants.some(([name]) => name === key)) sent.push([key, json]);
    }
    return sent;
  }
}

/** Writes a text at an offset. @returns the offset after it */
function writeText(text: string, out: Output, at: number, room: number): number {
  out.length = at;
  out.write(text, room);
  return out.length;
}

/** Writes what a converter left in the scratch memory. */
function writeScratch(out: Output, at: number, room: number): number {
  const { bytes, start, end } = scratch;
  out.length = at;
  out.reserve(end - start + room);
  bytes.copy(out.bytes, at, start, end);
  return at + end - start;
}
