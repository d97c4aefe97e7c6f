/** Times in a time zone, with a library that is loaded only if an input needs it. */
import type * as Luxon from 'luxon';

let luxon: typeof Luxon | undefined;

/** Call and await this before `zoneOf`. */
export async function loadZones(): Promise<void> {
  luxon ??= await import('luxon');
}

/**
 * Minutes east of Greenwich at a local time, given in milliseconds as if it were UTC: the first of two if clocks show
 * it twice, null if they skip it.
 */
export type OffsetAt = (local: number) => number | null;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Offsets are looked up by span, because the library is slow. No zone has changed its clocks twice within one span. */
const SPAN_MS = 16 * DAY_MS;
/** The most spans to keep: more than 800 years. */
const MOST_SPANS = 20_000;

/** Offsets in minutes before and after a moment, in milliseconds since 1970. */
interface Span {
  before: number;
  after: number;
  at: number;
}

/** Null for a name that is not one. */
export function zoneOf(name: string): OffsetAt | null {
  if (/^(?:UTC|GMT|Z)$/i.test(name)) return () => 0;
  if (luxon === undefined) throw new Error('zones are not loaded');
  const { FixedOffsetZone, IANAZone } = luxon;
  const isFixed = /^[+-]\d\d:\d\d$/.test(name);
  if (!isFixed && !IANAZone.isValidZone(name)) return null;
  const zone = isFixed ? FixedOffsetZone.parseSpecifier(`UTC${name}`) : IANAZone.create(name);
  if (zone.isUniversal) {
    const offset = zone.offset(0);
    return () => offset;
  }
  const spans = new Map<number, Span>();
  return (local) => {
    const number = Math.floor(local / SPAN_MS);
    let span = spans.get(number);
    if (span === undefined) {
      span = spanOf(zone, number);
      if (spans.size >= MOST_SPANS) spans.clear();
      spans.set(number, span);
    }
    const { before, after, at } = span;
    if (before === after || local - before * MINUTE_MS < at) return before;
    return local - after * MINUTE_MS >= at ? after : null;
  };
}

function spanOf(zone: Luxon.Zone, number: number): Span {
  // Local times are up to a day from UTC.
  let from = number * SPAN_MS - DAY_MS;
  let to = (number + 1) * SPAN_MS + DAY_MS;
  const [before, after] = [zone.offset(from), zone.offset(to)];
  if (before === after) return { before, after, at: to };
  while (to - from > 1_000) {
    const middle = Math.floor((from + to) / 2_000) * 1_000;
    if (zone.offset(middle) === before) from = middle;
    else to = middle;
  }
  return { before, after, at: to };
}
