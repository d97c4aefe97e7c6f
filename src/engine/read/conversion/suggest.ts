/** Which type every cell of a text column would fit, so that the plan can name it (contract §3 "Types"). */
import { type CellType, SOME_ZONE } from '../../model.js';
import { type Converter, converterOf, partsOf } from './converter.js';
import { fitting } from './found.js';
import { type DateKind, isRead, loosened, patternsOf, readsAs } from './guess.js';

/** What the cells of a text column have in common. Plain data. */
export interface Likely {
  /** Types that every cell fits, null markers aside, the likeliest first; null before the first. */
  types: readonly string[] | null;
  /** The first texts that stand for no value. */
  markers: readonly string[];
  /** Plain numbers that came before the first other cell. */
  plain: Plain;
}

/** None, integers, or decimals too. */
type Plain = 0 | 1 | 2;

export const noLikely = (): Likely => ({ types: null, markers: [], plain: 0 });

const MARKER =
  /^(?:\\N|null|\(null\)|#?n\/?a|n\.a\.|#n\/a|nan|none|nil|undefined|unknown|tbd|[-\u2013\u2014]{1,3}|\.|\?)$/i;
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
/** No value of these types is longer. */
const LONGEST = 60;

const converters = new Map<string, Converter>();

function reads(type: string, text: string): boolean {
  // Postal codes and telephone numbers are written with digits, too.
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

/** @param plain numbers among the cells before the first call */
export function addLikely(likely: Likely, text: string, plain: Plain): void {
  if (likely.types === null) {
    likely.plain = Math.max(likely.plain, plain) as Plain;
    const types = typesOf(text, likely.plain);
    if (types.length === 0 && mark(likely, text)) return;
    likely.types = types;
    return;
  }
  if (likely.types.every((type) => fitOf(type)(text))) return;
  const types = narrowed(likely.types, text);
  if (types.length > 0 || !mark(likely, text)) likely.types = types;
}

type Fit = (text: string) => boolean;
const fits = new Map<string, Fit>();
/** Patterns come from cells: those of a hostile file must not fill the memory. */
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

/** Takes note of a text that stands for no value. False for any other. */
function mark(likely: Likely, text: string): boolean {
  if (!MARKER.test(text)) return false;
  if (!likely.markers.includes(text)) {
    if (likely.markers.length === MOST_MARKERS) return false;
    likely.markers = [...likely.markers, text];
  }
  return true;
}

function typesOf(text: string, plain: Plain): string[] {
  if (text.length > LONGEST) return [];
  if (!/\d/.test(text)) return plain === 0 && reads('boolean', text) ? ['boolean'] : [];
  // Telephone numbers have spaces, too.
  const isFit = (type: string): boolean => reads(type, text) && (!type.includes(' ') || text.includes(','));
  const numbers: string[] = NUMBERS.filter(isFit);
  const found = numbers.length > 0 ? numbers : OTHERS.filter(isFit);
  if (plain > 0) return besides(found, plain);
  const days = patternsOf(text, 'date');
  // What is sent as it is written needs no type.
  if (days.length > 0) return [...found, ...days.filter((day) => day !== 'iso').map((day) => `date:${day}`)];
  if (RFC_3339.test(text)) return found;
  const times = patternsOf(text, 'datetime').map((pattern) => {
    const { offset } = readsAs(text, 'datetime', pattern)!;
    return `datetime:${pattern}${offset === null ? `@${SOME_ZONE}` : ''}`;
  });
  return [...found, ...times];
}

/** Those that also read plain numbers. */
const besides = (types: readonly string[], plain: Plain): string[] =>
  types.filter(
    (type) =>
      !isDate(type) &&
      type !== 'boolean' &&
      reads(type, plain === 2 ? '1.5' : '2') &&
      !(plain === 2 && type === 'integer'),
  );

const isDate = (type: string): boolean => type.startsWith('date');

function narrowed(types: readonly string[], text: string): string[] {
  return types.flatMap((type) => {
    if (fitOf(type)(text)) return [type];
    if (!isDate(type)) return [];
    const { name, form, zone } = partsOf(type);
    const kind = name as DateKind;
    const [pattern] = fitting(text, kind, [form!]);
    if (
      pattern === undefined ||
      (kind === 'datetime' && (readsAs(text, kind, pattern)!.offset === null) !== (zone !== null))
    )
      return [];
    return [`${kind}:${pattern}${zone === null ? '' : `@${zone}`}`];
  });
}

/** What two stretches of a column have in common. `numbers` are those of a stretch that has nothing else. */
export function mergeLikely(a: Likely, b: Likely): Likely {
  const plain = Math.max(a.plain, b.plain) as Plain;
  const both = a.types && b.types ? common(a.types, b.types) : (a.types ?? b.types);
  const markers = [...new Set([...a.markers, ...b.markers])];
  if (markers.length > MOST_MARKERS) return { types: [], markers: [], plain };
  return { types: both && plain > 0 ? besides(both, plain) : both, markers, plain };
}

const common = (a: readonly string[], b: readonly string[]): string[] =>
  a.flatMap((type) => {
    if (b.includes(type)) return [type];
    const loose = isDate(type) ? loosened(type) : type;
    return isDate(type) && b.some((other) => loosened(other) === loose) ? [loose] : [];
  });

/** What a text column could be given, and what its cells then are. */
export interface Suggestion {
  /** One; two where a cell reads differently under each. */
  types: string[];
  /** A cell, and what each type makes of it as JSON; null where that depends on a zone. */
  text: string;
  readings: (string | null)[];
  /** Texts that must count as empty for it. */
  markers: readonly string[];
}

/** @param first the first cell that is not a number @param styled a type of numbers that another column can only have */
export function suggestionOf(
  { types, markers, plain }: Likely,
  first: string,
  styled: string | null,
): Suggestion | null {
  const likely = types ?? (plain === 0 ? [] : [plain === 1 ? 'integer' : 'number']);
  const simple = likely.find((type) => type === 'integer' || type === 'number');
  const alike =
    styled === null ? undefined : likely.find((type) => styleOfType(type) === styleOfType(styled));
  const [only] = [simple ?? alike];
  const wanted = only === undefined ? likely : [only];
  const isCell = !markers.includes(first);
  const found = new Map<string, string>();
  for (const type of wanted) {
    const json =
      isCell && !type.endsWith(`@${SOME_ZONE}`) ? converterOf(type as CellType)!.json(first) : null;
    const reading = json ?? (isCell ? type : '');
    if (!found.has(reading)) found.set(reading, type);
  }
  if (found.size === 0) return null;
  const chosen = [...found].slice(0, 2);
  return {
    types: chosen.map(([, type]) => type),
    text: first,
    readings: chosen.map(([reading, type]) => (reading === type || reading === '' ? null : reading)),
    markers,
  };
}

const styleOfType = (type: string): string => partsOf(type).form ?? '1,234.56';

/** Whether a type tells how the numbers of its file are written. */
export const isStyled = (type: string): boolean => /^(?:number:|money|percent:)/.test(type);

export const isSameStyle = (a: string, b: string): boolean => styleOfType(a) === styleOfType(b);

/** What a column of a type holds. */
export function nounOf(type: string): string {
  const { name } = partsOf(type);
  return (
    { integer: 'integers', number: 'numbers', money: 'money', percent: 'percentages', boolean: 'booleans' }[
      name
    ] ?? `${name}s`
  );
}
