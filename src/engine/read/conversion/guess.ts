/**
 * Types that the cells of a text column would fit. The first cells give the candidates; then cells that do not fit are
 * counted, so that the counts of two parts of a column are added.
 */
import { type CellType, SOME_ZONE } from '../../model.js';
import type { Warning } from '../../problems.js';
import { count } from '../../util/numbers.js';
import { type Evidence, list } from '../wording.js';
import { converterOf, isSameStyle, TYPES, typeNamed } from './types.js';

/** How many cells give candidates. */
const FIRST_CELLS = 100;
/** How many candidates a column has at most. */
const MOST_TYPES = 64;
/** The longest value of these types. */
const LONGEST = 60;
const LONGEST_SHOWN = 100;
/** If more cells than this do not fit a type, it is dropped. */
const MOST_MISSES = 20;
/** One in this many cells may be a stray. */
const CELLS_FOR_A_STRAY = 20;

const MARKER =
  /^(?:\\N|null|\(null\)|#?n\/?a|n\.a\.|#n\/a|nan|none|nil|undefined|unknown|tbd|k\. ?a\.|[-\u2013\u2014]{1,3}|\.|\?)$/i;
const MOST_MARKERS = 5;

/** What a column may be, from its first cells. Plain data. */
export interface Guess {
  types: readonly string[];
}

export const NO_GUESS: Guess = { types: [] };

export interface Marker {
  text: string;
  cells: number;
}

/** How the candidates of a column fare in some of its cells. Plain data; `addTo` adds two of them. */
export interface Fits {
  /** How many cells were tried, without null markers. */
  cells: number;
  /** By candidate: how many of them do not fit, and the first of them. */
  misses: number[];
  strays: (Evidence | null)[];
  /** By candidate: the first one that reads all of them as it does. */
  alike: number[];
  /** Texts that mean no value. */
  markers: Marker[];
}

type Reads = (text: string) => string | null;

/** What a type makes of a text; null if it does not fit. The zone that is open does not matter for that. */
function readerOf(type: string): Reads {
  const converter = converterOf(type.replace(`@${SOME_ZONE}`, '@UTC') as CellType)!;
  // Postal codes and phone numbers consist of digits, too.
  if (typeNamed(type).sent === 'string') return (text) => converter.json(text);
  return (text) => (/^(?:\+|0\d)/.test(text) ? null : converter.json(text));
}

const readers = new Map<string, Reads>();
/** Patterns come from cells: a malicious file must not fill the memory with them. */
const MOST_READERS = 500;

function reads(type: string, text: string): string | null {
  let reader = readers.get(type);
  if (!reader) {
    reader = readerOf(type);
    if (readers.size >= MOST_READERS) readers.clear();
    readers.set(type, reader);
  }
  return reader(text);
}

/** The types that a column may be given. @param cells the first of them, without empty ones */
export function guessOf(cells: readonly string[]): Guess {
  const texts = [...new Set(cells.slice(0, FIRST_CELLS))].filter(({ length }) => length <= LONGEST);
  const types = new Set<string>();
  for (const text of texts) {
    for (const type of TYPES.flatMap(({ guess }) => guess?.(text) ?? [])) {
      if (types.size < MOST_TYPES && !types.has(type) && reads(type, text) !== null) types.add(type);
    }
  }
  return { types: [...types] };
}

export const noFits = ({ types }: Guess): Fits => ({
  cells: 0,
  misses: types.map(() => 0),
  strays: types.map(() => null),
  alike: types.map(() => 0),
  markers: [],
});

/** Whether one more cell can change what is known. */
export const isOpen = ({ misses }: Fits): boolean => misses.some((cells) => cells <= MOST_MISSES);

/** Tries a cell. */
export function addFit(fits: Fits, { types }: Guess, text: string, line: number): void {
  const { misses, strays } = fits;
  const isShort = text.length <= LONGEST;
  let fitting = 0;
  for (let at = 0; at < types.length; at++) {
    readings[at] = isShort && misses[at]! <= MOST_MISSES ? reads(types[at]!, text) : null;
    if (readings[at] !== null) fitting++;
  }
  if (fitting === 0 && MARKER.test(text)) {
    addMarker(fits.markers, { text, cells: 1 });
    return;
  }
  fits.cells++;
  tellApart(fits.alike, readings);
  if (fitting === types.length) return;
  for (let at = 0; at < types.length; at++) {
    if (readings[at] !== null) continue;
    misses[at]!++;
    strays[at] ??= { line, text: text.slice(0, LONGEST_SHOWN) };
  }
}

/** By candidate, of the cell that is being tried. */
const readings: (string | null)[] = [];

/** Parts candidates that were alike and differ in `by`. Backwards: a candidate is compared with those before it. */
function tellApart(alike: number[], by: readonly unknown[]): void {
  for (let at = alike.length - 1; at > 0; at--) {
    const before = alike[at]!;
    let first = before;
    while (first < at && (alike[first] !== before || by[first] !== by[at])) first++;
    alike[at] = first;
  }
}

function addMarker(markers: Marker[], { text, cells }: Marker): void {
  const found = markers.find((marker) => marker.text === text);
  if (found) found.cells += cells;
  // One more than may be offered is enough to know that there are too many.
  else if (markers.length <= MOST_MARKERS) markers.push({ text, cells });
}

/** `a` comes before `b`. */
export function addFits(a: Fits, b: Fits): Fits {
  const markers = a.markers.map((marker) => ({ ...marker }));
  for (const marker of b.markers) addMarker(markers, marker);
  const alike = [...a.alike];
  tellApart(alike, b.alike);
  return {
    alike,
    cells: a.cells + b.cells,
    misses: a.misses.map((cells, at) => cells + b.misses[at]!),
    strays: a.strays.map((stray, at) => stray ?? b.strays[at]!),
    markers,
  };
}

/** A suggestion for a text column. */
export interface Suggestion {
  /** One type, or several under which a cell reads differently. */
  types: string[];
  /** Texts that must count as empty for this type. */
  markers: readonly Marker[];
  /** Cells that do not fit the type. */
  strays: { rows: number; of: number; first: Evidence } | null;
}

/** Plain numbers, which are not tried: how many are whole, and how many have decimals. */
export interface PlainCells {
  whole: number;
  decimal: number;
}

const readsPlain = (type: string, { whole, decimal }: PlainCells): boolean =>
  (whole === 0 || reads(type, '2') !== null) && (decimal === 0 || reads(type, '1.5') !== null);

/** @param styled a type of numbers that another column can only have */
export function suggestionOf(
  { types }: Guess,
  { cells, misses, strays, alike, markers }: Fits,
  plain: PlainCells,
  styled: string | null,
): Suggestion | null {
  const left = types.flatMap((type, at) =>
    readsPlain(type, plain) ? [{ type, misses: misses[at]!, stray: strays[at]!, group: alike[at]! }] : [],
  );
  const least = Math.min(...left.map((one) => one.misses));
  const all = cells + plain.whole + plain.decimal;
  if (least > MOST_MISSES || least * CELLS_FOR_A_STRAY > all || markers.length > MOST_MARKERS) return null;
  const best = left.filter((one) => one.misses === least);
  const simple = best.find(({ type }) => type === 'integer' || type === 'number');
  // Codes, most of which are digits.
  if (simple && least > 0) return null;
  const sameStyle = styled === null ? undefined : best.find(({ type }) => isSameStyle(type, styled));
  const only = simple ?? sameStyle;
  const offered = (only ? [only] : best).filter(
    ({ group }, at, those) => those.findIndex((one) => one.group === group) === at,
  );
  const { stray } = offered[0]!;
  return {
    types: offered.map(({ type }) => type),
    markers,
    strays: stray && { rows: least, of: all, first: stray },
  };
}

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

const sortOf = (type: string): string =>
  ({ number: 'numbers', integer: 'numbers', boolean: 'booleans', string: 'dates' })[typeNamed(type).sent];
