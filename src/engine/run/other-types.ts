/** The types that cells would fit which do not fit theirs, for what a summary suggests. */
import type { CellType } from '../model.js';
import { BOOLEAN_TYPES, type Converter, converterOf, partsOf, trimmed } from '../read/index.js';

export interface OtherType {
  type: CellType;
  converter: Converter | null;
}

/** Whether a type reads every cell of another one as that does. */
export const isWider = (of: CellType, type: CellType): boolean =>
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
export function otherTypes(type: CellType, isWorkbook: boolean): OtherType[] {
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
export function isTrimmable(cell: string, type: CellType): boolean {
  const text = trimmed(cell);
  return text !== cell && converterOf(type)?.json(text) != null;
}

/** Text has no converter: every cell fits. A number would lose the zeros in front of `02139`. */
export const fits = (text: string, { converter }: OtherType): boolean =>
  converter === null || (!/^-?0\d/.test(text) && converter.json(text) !== null);
