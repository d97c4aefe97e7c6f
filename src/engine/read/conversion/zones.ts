/** Times of a zone, by a library that is loaded where an input has any. */
import type * as Luxon from 'luxon';

let luxon: typeof Luxon | undefined;

/** Must have ended before a zone is asked for. */
export async function loadZones(): Promise<void> {
  luxon ??= await import('luxon');
}

export interface Zone {
  /**
   * Minutes east of Greenwich at a local time, given in milliseconds as if it were UTC: the first of both where clocks
   * show it twice, null where they skip it.
   */
  offsetAt(local: number): number | null;
  /** Its offset is always 0. */
  readonly isUtc: boolean;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Days whose offset is kept. */
const MOST_DAYS = 20_000;

/** Null for a name that is not one. */
export function zoneOf(name: string): Zone | null {
  if (luxon === undefined) throw new Error('zones are not loaded');
  const fixed = /^(?:UTC|GMT|Z)$/i.test(name)
    ? luxon.FixedOffsetZone.utcInstance
    : /^[+-]\d\d:\d\d$/.test(name)
      ? luxon.FixedOffsetZone.parseSpecifier(`UTC${name}`)
      : null;
  const zone = fixed ?? (luxon.IANAZone.isValidZone(name) ? luxon.IANAZone.create(name) : null);
  if (zone === null) return null;
  if (zone.isUniversal) {
    const offset = zone.offset(0);
    return { isUtc: offset === 0, offsetAt: () => offset };
  }
  const days = new Map<number, number | null>();
  return {
    isUtc: false,
    offsetAt(local) {
      const day = Math.floor(local / DAY_MS);
      let offset = days.get(day);
      if (offset === undefined) {
        const [before, after] = [zone.offset((day - 1) * DAY_MS), zone.offset((day + 2) * DAY_MS)];
        offset = before === after ? before : null;
        if (days.size >= MOST_DAYS) days.clear();
        days.set(day, offset);
      }
      if (offset !== null) return offset;
      // The clocks are changed around that day.
      const around = [zone.offset((day - 1) * DAY_MS), zone.offset((day + 2) * DAY_MS)];
      const found = around.filter((minutes) => zone.offset(local - minutes * MINUTE_MS) === minutes);
      return found.length === 0 ? null : Math.max(...found);
    },
  };
}
