/** Time zones, by the data of this Node. */
import { nearest } from '../../util/nearest.js';
import { remembered } from './type.js';

/**
 * Minutes east of Greenwich at a local time, given in milliseconds as if it were UTC: the first of two if clocks show
 * it twice, null if they skip it.
 */
export type OffsetAt = (local: number) => number | null;

const DAY_MS = 86_400_000;
export const MINUTE_MS = 60_000;
const MOST_DAYS = 40_000;

/** Null for a name that is not one. Formatting is slow: it is done once for each day. */
export const zoneOf = remembered((name: string): OffsetAt | null => {
  if (/^(?:UTC|GMT|Z)$/i.test(name)) return () => 0;
  if (/^[+-](?:[01]\d|2[0-3]):[0-5]\d$/.test(name)) return () => minutesIn(name);
  const format = formatIn(name);
  if (format === null) return null;
  const offsetOf = (ms: number): number => minutesIn(format.format(ms));
  // Local times are up to a day from UTC.
  const around = remembered(
    (day: number) => [offsetOf((day - 1) * DAY_MS), offsetOf((day + 2) * DAY_MS)] as const,
    MOST_DAYS,
  );
  return (local) => {
    const offsets = around(Math.floor(local / DAY_MS));
    if (offsets[0] === offsets[1]) return offsets[0];
    return offsets.find((offset) => offsetOf(local - offset * MINUTE_MS) === offset) ?? null;
  };
});

/** The zone that a name most likely means, which may be that of a city alone. */
export function zoneLike(name: string): string | undefined {
  const zones = Intl.supportedValuesOf('timeZone');
  const city = `/${name.toLowerCase()}`;
  return zones.find((zone) => zone.toLowerCase().endsWith(city)) ?? nearest(name, zones);
}

function formatIn(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  } catch {
    return null;
  }
}

/** Of an offset at the end of a text, such as `+05:30` or `-00:44:30`; 0 if there is none. */
function minutesIn(text: string): number {
  const [, sign, hours, minutes, seconds] = /([+-])(\d\d):(\d\d):?(\d*)$/.exec(text) ?? [];
  if (sign === undefined) return 0;
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) / (sign === '-' ? -60 : 60);
}
