/** Decides which type the plan suggests for a text column (contract §3 "Types"). */
import { type CellType, SOME_ZONE } from '../../model.js';
import type { Warning } from '../../problems.js';
import { count } from '../../util/numbers.js';
import { type Evidence, list } from '../wording.js';
import { converterOf, partsOf } from './converter.js';
import type { Likely, Marker } from './likely.js';

/** One in this many cells may be a stray. */
const CELLS_FOR_A_STRAY = 20;

/** A suggestion for a text column. */
export interface Suggestion {
  /** One type, or two under which a cell reads differently. */
  types: string[];
  /** Texts that must count as empty for this type. */
  markers: readonly Marker[];
  /** Cells that do not fit the type. */
  strays: { rows: number; of: number; first: Evidence } | null;
}

/** @param first the first cell that is not a number @param styled a type of numbers that another column can only have */
export function suggestionOf(
  { candidates, cells, markers }: Likely,
  first: string,
  styled: string | null,
): Suggestion | null {
  const misses = Math.min(...candidates.map((one) => one.misses));
  if (misses * CELLS_FOR_A_STRAY > cells) return null;
  const best = candidates.filter((one) => one.misses === misses);
  const likely = best.map(({ type }) => type);
  const simple = likely.find((type) => type === 'integer' || type === 'number');
  // Codes, most of which are digits.
  if (simple !== undefined && misses > 0) return null;
  const alike =
    styled === null ? undefined : likely.find((type) => styleOfType(type) === styleOfType(styled));
  const [only] = [simple ?? alike];
  const wanted = only === undefined ? likely : [only];
  const sample = best[0]!.sample ?? first;
  const isCell = !markers.some(({ text }) => text === sample);
  const found = new Map<string, string>();
  for (const type of wanted) {
    const json =
      isCell && !type.endsWith(`@${SOME_ZONE}`) ? converterOf(type as CellType)!.json(sample) : null;
    const reading = json ?? (isCell ? type : '');
    if (!found.has(reading)) found.set(reading, type);
  }
  if (found.size === 0) return null;
  const types = [...found.values()].slice(0, 2);
  const stray = best.find(({ type }) => type === types[0])!.stray;
  return { types, markers, strays: misses > 0 ? { rows: misses, of: cells, first: stray! } : null };
}

const styleOfType = (type: string): string => partsOf(type).form ?? '1,234.56';

/** Whether a type shows how the numbers of its file are written. */
export const isStyled = (type: string): boolean => /^(?:number:|money|percent:)/.test(type);

/** Numbers whose point is for thousands. */
export const POINT_FOR_THOUSANDS = 'number:1.234,56';

export const isSameStyle = (a: string, b: string): boolean => styleOfType(a) === styleOfType(b);

/** The warning about text columns that another type would fit. */
export function looksTyped(
  path: string,
  columns: readonly { column: string; types: readonly string[] }[],
): Warning[] {
  if (columns.length === 0) return [];
  const sorts = new Set(columns.map(({ types: [type] }) => sortOf(type!)));
  const names = columns.map(({ column }) => column);
  const sort = ['numbers', 'dates', 'booleans'].filter((each) => sorts.has(each));
  const what = sort.length === 3 ? 'numbers, dates, or booleans' : sort.join(' or ');
  const message = `${count(names.length, 'text column')} ${names.length === 1 ? 'looks' : 'look'} like ${what}: ${list(names)}`;
  return [{ message, problem: { code: 'looks_typed', path } }];
}

function sortOf(type: string): string {
  const { name } = partsOf(type);
  return name === 'boolean' ? 'booleans' : name.startsWith('date') ? 'dates' : 'numbers';
}

/** The noun for the values of a type. */
export function nounOf(type: string): string {
  const { name } = partsOf(type);
  return (
    { integer: 'integers', number: 'numbers', money: 'money', percent: 'percentages', boolean: 'booleans' }[
      name
    ] ?? `${name}s`
  );
}
