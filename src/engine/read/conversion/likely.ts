/** Finds types that the cells of a text column would fit, cell by cell and over stretches of the column. */
import { type CellType, SOME_ZONE } from '../../model.js';
import type { Evidence } from '../wording.js';
import { BOOLEAN_TYPES, type Converter, converterOf, partsOf } from './converter.js';
import { fitting } from './found.js';
import { type DateKind, isRead, loosened, patternsOf, readsAs } from './guess.js';

/** A type that most cells fit so far. */
interface Candidate {
  type: string;
  /** Cells that do not fit it, and the first of them. */
  misses: number;
  stray: Evidence | null;
  /** The cell that it was found by; null for plain numbers. */
  sample: string | null;
}

/** What the cells of a text column have in common. Plain data. */
export interface Likely {
  /** Types that all cells but a few fit, null markers aside, the likeliest first. */
  candidates: readonly Candidate[];
  /** Number of cells, without null markers. */
  cells: number;
  /** Number of cells that were searched for types, including the previous stretch: `SEARCHED` at most. */
  searched: number;
  /** The first cell; null in a stretch of only plain numbers. */
  first: Evidence | null;
  /** The first texts that mean no value, and how many cells have them. */
  markers: readonly Marker[];
}

export interface Marker {
  text: string;
  cells: number;
}

/** None, integers, or decimals too. */
export type Plain = 0 | 1 | 2;

/** Creates all of them, because code that runs for every cell is fast only if they have the same shape. */
const likelyOf = (
  candidates: readonly Candidate[],
  cells: number,
  searched: number,
  first: Evidence | null = null,
  markers: readonly Marker[] = [],
): Likely => ({ candidates, cells, searched, first, markers });

const candidateOf = (
  type: string,
  misses: number,
  stray: Evidence | null,
  sample: string | null,
): Candidate => ({
  type,
  misses,
  stray,
  sample,
});

export const noLikely = (): Likely => likelyOf([], 0, 0);

/**
 * The start for the next stretch of a column on the same thread. Types that were not found in this stretch, or that too
 * many cells did not fit, are not searched for again.
 */
export const nextLikely = ({ candidates, searched }: Likely): Likely =>
  likelyOf(
    candidates.map(({ type, sample }) => candidateOf(type, 0, null, sample)),
    0,
    searched,
  );

/** If more cells than this do not fit a type, it is dropped. */
const MOST_MISSES = 20;
/** The most cells that are searched for types, because that takes long. */
const SEARCHED = 3;

const MARKER =
  /^(?:\\N|null|\(null\)|#?n\/?a|n\.a\.|#n\/a|nan|none|nil|undefined|unknown|tbd|k\. ?a\.|[-\u2013\u2014]{1,3}|\.|\?)$/i;
const MOST_MARKERS = 5;

const NUMBERS = [
  'integer',
  'number',
  'number:1,234.56',
  'number:1.234,56',
  'number:1 234,56',
  "number:1'234.56",
] as const;
const OTHERS = [
  'percent',
  'percent:1.234,56',
  'money',
  'money:1.234,56',
  'money:1 234,56',
  "money:1'234.56",
  'boolean',
] as const;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
/** The longest value of these types. */
const LONGEST = 60;
const LONGEST_SHOWN = 100;

const converters = new Map<string, Converter>();

function reads(type: string, text: string): boolean {
  // Postal codes and phone numbers consist of digits, too.
  const code = text.charCodeAt(0);
  if (code === 0x2b || (code === 0x30 && text.charCodeAt(1) >= 0x30 && text.charCodeAt(1) <= 0x39))
    return false;
  let converter = converters.get(type);
  if (!converter) {
    converter = converterOf(type as CellType)!;
    converters.set(type, converter);
  }
  return converter.size(text) >= 0;
}

/** What is known about a stretch of only plain numbers. */
export function plainLikely(plain: Plain, cells: number): Likely {
  if (plain === 0) return noLikely();
  const types = NUMBERS.filter((type) => readsPlain(type, plain));
  return likelyOf(
    types.map((type) => candidateOf(type, 0, null, null)),
    cells,
    Math.min(cells, SEARCHED),
  );
}

/** What is known after plain numbers at the beginning of a stretch. @param likely what was known before them */
export function afterPlain(likely: Likely, plain: Plain, cells: number): Likely {
  if (cells === 0) return likely;
  if (likely.searched === 0) return plainLikely(plain, cells);
  const found = likely.candidates.flatMap(({ type, sample }) => {
    const misses = readsPlain(type, plain) ? 0 : cells;
    return misses > MOST_MISSES ? [] : [candidateOf(type, misses, null, sample)];
  });
  return likelyOf(found, cells, likely.searched);
}

/** Whether one more cell can change what is known. */
export const isOpen = ({ candidates, searched }: Likely): boolean =>
  candidates.length > 0 || searched < SEARCHED;

/** Adds a cell. @param plain which plain numbers came before the first other cell */
export function addLikely(likely: Likely, text: string, line: number, plain: Plain): void {
  const { candidates, cells, searched } = likely;
  if (searched >= SEARCHED && fitsAll(candidates, text)) {
    likely.cells++;
    return;
  }
  const cell = { line, text: text.slice(0, LONGEST_SHOWN) };
  const fitted = candidates.map((one) => withCell(one, text, cell));
  const isFit = fitted.some((one, at) => one.misses === candidates[at]!.misses);
  const others =
    searched >= SEARCHED ? [] : typesOf(text, plain).filter((type) => !isAmong(type, candidates));
  if (!isFit && others.length === 0 && mark(likely, text)) return;
  // The cells before it are of other types, except for plain numbers that this one reads too.
  const found = others.map((type) =>
    plain > 0 ? candidateOf(type, 0, null, text) : candidateOf(type, cells, likely.first, text),
  );
  if (cells === 0) likely.first = cell;
  likely.candidates = [...fitted.filter(({ misses }) => misses <= MOST_MISSES), ...found];
  likely.cells++;
  likely.searched = Math.min(searched + 1, SEARCHED);
  if (isOpen(likely)) return;
  // Without a type, these counts mean nothing.
  likely.cells = 0;
  likely.first = null;
}

type Fit = (text: string) => boolean;
const fits = new Map<string, Fit>();
/** Patterns come from cells: a malicious file must not fill the memory with them. */
const MOST_FITS = 500;

/** Whether a text fits a type as it is. */
function fitOf(type: string): Fit {
  let fit = fits.get(type);
  if (!fit) {
    const { name, form, zone } = partsOf(type);
    const kind = name as DateKind;
    fit = !isDate(type)
      ? (text) => reads(type, text)
      : kind === 'date' || form !== 'iso'
        ? (text) => isRead(text, kind, form!)
        : (text) => {
            const parts = readsAs(text, kind, form!);
            return parts !== null && (parts.offset === null) === (zone !== null);
          };
    if (fits.size >= MOST_FITS) fits.clear();
    fits.set(type, fit);
  }
  return fit;
}

function fitsAll(candidates: readonly Candidate[], text: string): boolean {
  for (const { type } of candidates) if (!fitOf(type)(text)) return false;
  return true;
}

/** Whether a type is among the candidates, even for numbers of other lengths. */
const isAmong = (type: string, candidates: readonly Candidate[]): boolean =>
  candidates.some((one) => one.type === type || (isDate(type) && loosened(one.type) === loosened(type)));

/** A candidate after one more cell; dates may get a looser pattern. */
function withCell(one: Candidate, text: string, cell: Evidence): Candidate {
  if (fitOf(one.type)(text)) return one;
  const { misses, stray, sample } = one;
  const type = isDate(one.type) ? looser(one.type, text) : null;
  if (type !== null) return candidateOf(type, misses, stray, sample);
  return candidateOf(one.type, misses + 1, stray ?? cell, sample);
}

/** Records a text that means no value. False for any other text. */
function mark(likely: Likely, text: string): boolean {
  if (!MARKER.test(text)) return false;
  const found = likely.markers.find((marker) => marker.text === text);
  if (found) found.cells++;
  else if (likely.markers.length === MOST_MARKERS) return false;
  else likely.markers = [...likely.markers, { text, cells: 1 }];
  return true;
}

function typesOf(text: string, plain: Plain): string[] {
  if (text.length > LONGEST) return [];
  if (!/\d/.test(text))
    return plain === 0 ? ['boolean', ...BOOLEAN_TYPES].filter((type) => reads(type, text)) : [];
  // Phone numbers have spaces, too.
  const isFit = (type: string): boolean => reads(type, text) && (!type.includes(' ') || text.includes(','));
  const numbers: string[] = NUMBERS.filter(isFit);
  const found = numbers.length > 0 ? numbers : OTHERS.filter(isFit);
  if (plain > 0) return found.filter((type) => type !== 'boolean' && readsPlain(type, plain));
  const days = patternsOf(text, 'date');
  // Values that are sent as written need no type.
  if (days.length > 0) return [...found, ...days.filter((day) => day !== 'iso').map((day) => `date:${day}`)];
  if (RFC_3339.test(text)) return found;
  const times = patternsOf(text, 'datetime').map((pattern) => {
    const { offset } = readsAs(text, 'datetime', pattern)!;
    return `datetime:${pattern}${offset === null ? `@${SOME_ZONE}` : ''}`;
  });
  return [...found, ...times];
}

/** Whether a type also reads plain numbers. */
const readsPlain = (type: string, plain: Plain): boolean =>
  reads(type, plain === 2 ? '1.5' : '2') && !(plain === 2 && type === 'integer');

const isDate = (type: string): boolean => type.startsWith('date');

/** A date type with a looser pattern, if the text fits it; otherwise null. */
function looser(type: string, text: string): string | null {
  const { name, form, zone } = partsOf(type);
  const kind = name as DateKind;
  const [pattern] = fitting(text, kind, [form!]);
  if (
    pattern === undefined ||
    (kind === 'datetime' && (readsAs(text, kind, pattern)!.offset === null) !== (zone !== null))
  )
    return null;
  return `${kind}:${pattern}${zone === null ? '' : `@${zone}`}`;
}

/** Merges two stretches of a column; `a` comes before `b`. */
export function mergeLikely(a: Likely, b: Likely): Likely {
  const markers = a.markers.map((marker) => ({ ...marker }));
  for (const { text, cells } of b.markers) {
    const found = markers.find((marker) => marker.text === text);
    if (found) found.cells += cells;
    else markers.push({ text, cells });
  }
  const cells = a.cells + b.cells;
  const searched = Math.min(a.searched + b.searched, SEARCHED);
  const first = a.first ?? b.first;
  if (markers.length > MOST_MARKERS) {
    return likelyOf([], cells, SEARCHED, first);
  }
  const candidates: Candidate[] = [];
  for (const one of [...a.candidates, ...b.candidates]) {
    if (isAmong(one.type, candidates)) continue;
    const [before, after] = [counted(a, one.type), counted(b, one.type)];
    const misses = before.misses + after.misses;
    if (misses > MOST_MISSES) continue;
    const type = before.type === after.type ? one.type : loosened(one.type);
    candidates.push(candidateOf(type, misses, before.stray ?? after.stray, one.sample));
  }
  return likelyOf(candidates, cells, searched, first, markers);
}

/** How a type fares in a stretch: one that is not a candidate fits none of the cells that were asked. */
function counted(likely: Likely, type: string): Candidate {
  const { candidates, cells, searched, first } = likely;
  const found = candidates.find((one) => isAmong(type, [one]));
  if (found) return found;
  const isKnown = isOpen(likely) && (cells === 0 || (first !== null && cells === searched));
  return candidateOf(type, isKnown ? cells : MOST_MISSES + 1, first, null);
}
