/**
 * Types that the cells of a text column would fit. The first cells give the candidates; then cells that do not fit are
 * counted, so that the counts of two parts of a column are added.
 */
import { type CellType, SOME_ZONE } from '../../model.js';
import type { Warning } from '../../problems.js';
import { count } from '../../util/numbers.js';
import { type Evidence, list } from '../wording.js';
import { TEXT_TYPES } from './texts.js';
import { remembered, scratchText } from './type.js';
import { converterOf, isSameStyle, sentAs, TYPES } from './types.js';

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
const LONGEST_MARKER = 9;

/** Whether a text usually means that there is no value. */
export const isMarker = (text: string): boolean => text.length <= LONGEST_MARKER && MARKER.test(text);

interface Marker {
  text: string;
  cells: number;
}

/** How a candidate fares in some of the cells. */
interface Fit {
  type: string;
  /** How many do not fit, and the first of them. */
  misses: number;
  stray: Evidence | null;
  /** The first candidate that reads all of them as this one does. */
  alike: number;
  /** Bits: whether some are true, and some are false. */
  says: number;
}

/** How the candidates of a column fare in some of its cells. Plain data; `addFits` adds two of them. */
export interface Fits {
  /** How many cells were tried, without null markers. */
  cells: number;
  types: Fit[];
  /** Texts that mean no value. */
  markers: Marker[];
}

/** The zone that is open does not matter for whether a text fits. */
const converterFor = remembered((type: string) => {
  const { read } = converterOf(type.replace(`@${SOME_ZONE}`, '@UTC') as CellType)!;
  return { read, isText: sentAs(type as CellType) === 'string' };
});

/** What a type makes of a text, as `Reader.read` gives it; null if it does not fit. */
function reads(type: string, text: string): string | null {
  const { read, isText } = converterFor(type);
  // Postal codes and phone numbers consist of digits, too.
  return !isText && /^(?:\+|0\d)/.test(text) ? null : read(text);
}

/** What a type makes of a text, as JSON; null if it does not fit. */
export function readsAsType(type: string, text: string): string | null {
  const json = reads(type, text);
  return json === '' ? scratchText() : json;
}

/** The types that a column may be given. @param cells the first of them, without empty ones */
export function guessOf(cells: readonly string[]): string[] {
  const texts = [...new Set(cells.slice(0, FIRST_CELLS))].filter(({ length }) => length <= LONGEST);
  const types = new Set<string>();
  for (const text of texts) {
    const tried = /\d/.test(text) ? TYPES : TEXT_TYPES; // all others have digits
    for (const type of tried.flatMap(({ guess }) => guess?.(text) ?? [])) {
      if (types.size < MOST_TYPES && !types.has(type) && reads(type, text) !== null) types.add(type);
    }
  }
  return [...types];
}

export const noFits = (types: readonly string[]): Fits => ({
  cells: 0,
  types: types.map((type) => ({ type, misses: 0, stray: null, alike: 0, says: 0 })),
  markers: [],
});

const BOTH = 3;
/** Whether a text is surely a boolean: `NO` alone may be Norway, and `Y` a code. */
const isClear = (text: string): boolean => /^(?:true|false)$/i.test(text);

/** Whether one more cell can change what is known. */
export const isOpen = ({ types }: Fits): boolean => types.some(({ misses }) => misses <= MOST_MISSES);

/** By candidate, of the cell that is being tried. */
const readings: (string | null)[] = [];

/** Tries a cell. */
export function addFit(fits: Fits, text: string, line: number): void {
  const { types } = fits;
  const isShort = text.length <= LONGEST;
  let fitting = 0;
  for (let at = 0; at < types.length; at++) {
    const fit = types[at]!;
    const json = isShort && fit.misses <= MOST_MISSES ? reads(fit.type, text) : null;
    readings[at] = json === '' && types.length > 1 ? scratchText() : json;
    if (json === null) continue;
    fitting++;
    if (json === 'true' || json === 'false') fit.says |= isClear(text) ? BOTH : json === 'true' ? 1 : 2;
  }
  if (fitting === 0 && isMarker(text)) {
    addMarker(fits.markers, { text, cells: 1 });
    return;
  }
  fits.cells++;
  tellApart(types, readings);
  for (const [at, fit] of fitting < types.length ? types.entries() : []) {
    if (readings[at] !== null) continue;
    fit.misses++;
    fit.stray ??= { line, text: text.slice(0, LONGEST_SHOWN) };
  }
}

/** Parts candidates that were alike and differ in `by`. Backwards: a candidate is compared with those before it. */
function tellApart(types: Fit[], by: readonly unknown[]): void {
  for (let at = types.length - 1; at > 0; at--) {
    const before = types[at]!.alike;
    let first = before;
    while (first < at && (types[first]!.alike !== before || by[first] !== by[at])) first++;
    types[at]!.alike = first;
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
  if (b.cells === 0 && b.markers.length === 0) return a;
  const markers = a.markers.map((marker) => ({ ...marker }));
  for (const marker of b.markers) addMarker(markers, marker);
  const types = a.types.map((fit, at) => {
    const { misses, stray, says } = b.types[at]!;
    return { ...fit, misses: fit.misses + misses, stray: fit.stray ?? stray, says: fit.says | says };
  });
  const alike = b.types.map((fit) => fit.alike);
  tellApart(types, alike);
  return { cells: a.cells + b.cells, types, markers };
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

/**
 * @param plain whole numbers, and decimals: they are not tried
 * @param styled a type of numbers that another column can only have
 */
export function suggestionOf(
  { cells, types, markers }: Fits,
  plain: { whole: number; decimal: number },
  styled: string | null,
): Suggestion | null {
  const left = types.filter(({ type, says }) => {
    const readsPlain =
      (plain.whole === 0 || reads(type, '2') !== null) &&
      (plain.decimal === 0 || reads(type, '1.5') !== null);
    return readsPlain && (sentAs(type as CellType) !== 'boolean' || says === BOTH);
  });
  const least = Math.min(...left.map(({ misses }) => misses));
  const all = cells + plain.whole + plain.decimal;
  if (least > MOST_MISSES || least * CELLS_FOR_A_STRAY > all || markers.length > MOST_MARKERS) return null;
  const best = left.filter(({ misses }) => misses === least);
  const simple = best.find(({ type }) => type === 'integer' || type === 'number');
  // Codes, most of which are digits.
  if (simple && least > 0) return null;
  const sameStyle = styled === null ? undefined : best.find(({ type }) => isSameStyle(type, styled));
  const only = simple ?? sameStyle;
  const offered = (only ? [only] : best).filter(
    ({ alike }, at, those) => those.findIndex((one) => one.alike === alike) === at,
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
  const sorts = new Set(columns.map(({ types: [type] }) => SORTS[sentAs(type as CellType)]));
  const names = columns.map(({ column }) => column);
  const sort = ['numbers', 'dates', 'booleans'].filter((each) => sorts.has(each));
  const what = sort.length === 3 ? 'numbers, dates, or booleans' : sort.join(' or ');
  const message = `${count(names.length, 'text column')} ${names.length === 1 ? 'looks' : 'look'} like ${what}: ${list(names)}`;
  return [{ message, problem: { code: 'looks_typed', path } }];
}

const SORTS = { number: 'numbers', integer: 'numbers', boolean: 'booleans', string: 'dates' };
