/** Writes the items of the rows of a CSV or a sheet. */
import type { CellType } from '../../model.js';
import { type Converter, converterOf, misfit } from '../conversion/types.js';
import { BLANK, type RowWriter } from '../format.js';
import type { IdentifierCheck } from '../identifier.js';
import { EMPTY } from '../item-text.js';
import { As, Converted, type ItemMember, ItemWriter, type Sent } from '../item-writer.js';
import { membersOf, membersText } from '../json/text.js';
import { keyStyle } from '../mapping/rules.js';
import type { Role, Target } from '../mapping/targets.js';
import { hasSurplus, inputIdCheck, refusalAgain } from '../rejects-rows.js';
import type { Rows } from '../rows.js';
import type { Output } from '../text/output.js';
import type { OpenedInput } from '../types.js';
import { quoted, type Refusal } from '../wording.js';
import { CsvRow } from './row.js';

const REPEATED_HEADER = 'repeats the header';

/** A column whose cells become metadata. */
interface Member extends ItemMember {
  target: Target;
  /** Null unless the column is pinned to a type that converts its text. */
  converter: Converter | null;
}

/** What is `Sent` is that of the row checked last. */
export class CsvWriter implements RowWriter, Sent {
  /** The row that was written or refused last, and whether its cells count for the types of their columns. */
  readonly row: CsvRow;
  isCounted = false;
  id = '';
  company = '';
  readonly converted: Converted;
  spread = '';
  readonly #input: OpenedInput;
  readonly #id: number;
  readonly #company: number;
  readonly #spread: number;
  readonly #isLower: { id: boolean; company: boolean };
  readonly #header: readonly string[];
  readonly #idName: string | undefined;
  readonly #markedName: string;
  readonly #members: readonly Member[];
  /** Those that have a converter, with their places. */
  readonly #converting: readonly (readonly [at: number, member: Member])[];
  readonly #byKey: ReadonlyMap<string, Member>;
  readonly #items: ItemWriter;
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
    this.#members = targets.flatMap((target, index): Member[] => {
      if (target.role !== 'metadata') return [];
      const converter = target.pinned && converterOf(target.pinned);
      const as = converter ? As.converted : types === null || types[index] === 'string' ? As.text : As.raw;
      return [{ index, target, as, key: target.key!, converter }];
    });
    this.#converting = [...this.#members.entries()].filter(([, { converter }]) => converter !== null);
    this.#byKey = new Map(this.#members.map((member) => [member.key, member]));
    this.converted = new Converted(this.#members.length);
    this.#items = new ItemWriter(input.kind, this.#members, membersText(input.constants), EMPTY[rules.empty]);
    this.#check = inputIdCheck(input);
    this.#again = input.again ? refusalAgain(input.again, input.columns, this.#pads) : null;
    this.#styled = keyStyle(rules.keys);
  }

  get #pads(): boolean {
    return this.#input.csv?.shortRows === 'pad';
  }

  get quotes(): number {
    return this.#items.quotes;
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
    const reason = unreadable ?? this.refusal();
    // A row that is not sent still counts for the types of its columns: it may come back fixed.
    const isRow = unreadable === null && row.count === this.#input.targets.length;
    this.isCounted = isRow && reason !== BLANK && reason !== REPEATED_HEADER;
    if (reason === null) {
      const size = row.ends[row.base + row.count - 1]! - row.starts[row.base]!;
      this.#items.write(out, row, size, this);
    }
    return reason;
  }

  /**
   * Why the row cannot be sent, regardless of its columns' types; null if it can, `BLANK` if it is not a row. Pads a short
   * row if short rows are allowed.
   */
  refusal(): Refusal | null {
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
    const wrong =
      this.#check(id, idColumn) ?? (company === '' ? null : this.#check(company, companyIdColumn!));
    if (wrong !== null) return wrong;
    this.id = this.#isLower.id ? id.toLowerCase() : id;
    this.company = this.#isLower.company ? company.toLowerCase() : company;
    this.converted.out.length = 0;
    for (const [at, { index, target, converter }] of this.#converting) {
      if (row.isEmpty(index)) continue;
      const cell = row.text(index);
      const json = converter!.read(cell);
      if (json === null) return misfit(target.column, cell, target.pinned!, converter!);
      this.converted.set(at, json);
    }
    this.spread = '';
    return this.#spread < 0 || row.isEmpty(this.#spread) ? null : this.#spreadCell(row.text(this.#spread));
  }

  /** As in concatenated files, also with a byte order mark, which `trim` takes, too. */
  #repeatsHeader(id: string): boolean {
    return (
      (id === this.#idName || id === this.#markedName) &&
      this.#header.every((name, index) => this.row.text(index).trim() === name.trim())
    );
  }

  /** Takes the members of a `metadata` cell. @returns why they cannot be sent */
  #spreadCell(cell: string): string | null {
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
    this.spread = membersText(sent);
    return null;
  }
}
