/** Converts single values of Parquet files to JSON. Nothing is rounded. */
import { lossIn } from '../json/text.js';

/** A value that cannot be sent: it is out of range, or not what the file's schema promises. */
export class BadValueError extends Error {
  /** @param shown the value as text, if only its row is rejected; otherwise the file cannot be read */
  constructor(
    message: string,
    readonly shown: string | null = null,
  ) {
    super(message);
  }
}

/** In place of a bad value of a list, map, or structure: writing its row throws the error. */
export class Unsendable {
  constructor(private readonly error: BadValueError) {}

  toJSON(): never {
    throw this.error;
  }
}

/** Converts a value of a list, map, or structure. */
export function attempt(convert: () => unknown): unknown {
  try {
    return convert();
  } catch (error) {
    if (error instanceof BadValueError) return new Unsendable(error);
    throw error;
  }
}

export type JsonValue = string | number | boolean | object | null;
/** Any number with this many digits is exact in a double. */
export const EXACT_DIGITS = 15;

/** A number as far as a double holds it with certainty, text beyond. */
export function exact(unscaled: bigint, scale: number): JsonValue {
  const text = decimalText(unscaled, scale);
  if (scale === 0) return Number.isSafeInteger(Number(unscaled)) ? Number(unscaled) : text;
  const digits = String(unscaled < 0n ? -unscaled : unscaled).length;
  return digits <= EXACT_DIGITS ? Number(text) : text;
}

/** The value of a JSON text; the text itself if it is not JSON. */
export function jsonValue(text: string): JsonValue {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
  const loss = lossIn(text, value, false);
  if (loss !== null) throw new BadValueError(loss, text);
  return value;
}

export function decimalText(unscaled: bigint, decimals: number): string {
  const sign = unscaled < 0n ? '-' : '';
  const digits = String(unscaled < 0n ? -unscaled : unscaled);
  if (decimals <= 0) return `${sign}${digits}${digits === '0' ? '' : '0'.repeat(-decimals)}`;
  const padded = digits.padStart(decimals + 1, '0');
  return `${sign}${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`;
}

const DAY_MILLIS = 86_400_000;
const DAY_NANOS = 86_400_000_000_000n;

/**
 * Text of milliseconds since 1970, as `write` makes it of their ISO text.
 * @throws BadValueError for years that RFC 3339 has no text for
 */
function isoOf(millis: number, write: (iso: string) => string): string {
  const text =
    Math.abs(millis) <= 8_640_000_000_000_000
      ? write(new Date(millis).toISOString())
      : `${Math.trunc(millis / DAY_MILLIS)} days from 1970`;
  if (millis >= FIRST_MILLIS && millis <= LAST_MILLIS) return text;
  const why = millis < FIRST_MILLIS ? 'is before the year one' : 'has a year of more than four digits';
  throw new BadValueError(`"${text}" ${why}`, text);
}

const FIRST_MILLIS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MILLIS = Date.parse('9999-12-31T23:59:59.999Z');

export const dateText = (days: number): string => isoOf(days * DAY_MILLIS, (iso) => iso.split('T')[0]!);

/** Nothing if the fraction is zero; otherwise 3, 6, or 9 digits, as few as possible. */
function fraction(nanos: number): string {
  if (nanos === 0) return '';
  const digits = String(nanos).padStart(9, '0');
  if (digits.endsWith('000000')) return `.${digits.slice(0, 3)}`;
  return digits.endsWith('000') ? `.${digits.slice(0, 6)}` : `.${digits}`;
}

const SECOND = 1_000_000_000n;

/** Text of nanoseconds since 1970. */
export function timestampText(nanos: bigint, zone: string): string {
  const rest = ((nanos % SECOND) + SECOND) % SECOND;
  const seconds = Number((nanos - rest) / SECOND);
  return isoOf(seconds * 1000, (iso) => iso.slice(0, -5) + fraction(Number(rest)) + zone);
}

/** Text of nanoseconds since midnight. */
export function timeText(nanos: bigint): string {
  return timestampText(((nanos % DAY_NANOS) + DAY_NANOS) % DAY_NANOS, '').split('T')[1]!;
}

/** The high bits are the Julian day, the low 64 the nanoseconds. Spark, which writes most of these, means UTC. */
export function int96Text(raw: bigint): string {
  const days = (raw >> 64n) - 2_440_588n;
  return timestampText(days * DAY_NANOS + BigInt.asUintN(64, raw), 'Z');
}

/** JSON has only finite numbers: NaN becomes a missing value, as in pandas, and an infinity becomes text. */
export function finite(value: number): JsonValue {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? null : String(value);
}

/** The shortest decimal that rounds to the same smaller float: 0.1, not 0.10000000149011612. */
export function shortest(
  value: number,
  least: number,
  most: number,
  round: (value: number) => number,
): JsonValue {
  if (!Number.isFinite(value) || Number.isInteger(value)) return finite(value);
  for (let digits = least; digits < most; digits++) {
    const short = Number(value.toPrecision(digits));
    if (round(short) === value) return short;
  }
  return Number(value.toPrecision(most));
}

export const float32 = (value: number): JsonValue => shortest(value, 6, 9, Math.fround);

/** Rounds to the 11 binary digits of a half float. */
export function fround16(value: number): number {
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(value))), -14) - 10);
  return Math.round(value / step) * step;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param promised whether the file says that these bytes are text; otherwise, bytes that are not become base64 */
export function textOf(raw: Uint8Array, promised: boolean): string {
  try {
    const text = UTF_8.decode(raw);
    return promised || !CONTROL.test(text) ? text : base64(raw);
  } catch {
    if (!promised) return base64(raw);
    throw new BadValueError('a text is not valid UTF-8');
  }
}

/** Never in a text, and often in other bytes that happen to be valid UTF-8. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

export const base64 = (raw: Uint8Array): string => Buffer.from(raw).toString('base64');

export function uuidText(raw: Uint8Array): string {
  const hex = Buffer.from(raw).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
