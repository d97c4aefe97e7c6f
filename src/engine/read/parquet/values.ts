/** Converts single values of Parquet files to JSON: each column keeps one type, and nothing is rounded. */
import type { LogicalType, SchemaElement } from 'hyparquet';
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

export type JsonValue = string | number | boolean | object | null;
// biome-ignore lint/suspicious/noExplicitAny: each physical type has another one
type Raw = any;
type Convert = (raw: Raw) => JsonValue;

/** What a column's values mean. Older files say it with converted types only. */
export function meaningOf({
  converted_type,
  logical_type,
  scale,
  precision,
}: SchemaElement): LogicalType | null {
  if (logical_type) return logical_type;
  const [, timed, unit] = /^(TIMESTAMP|TIME)_(MILLIS|MICROS)$/.exec(converted_type ?? '') ?? [];
  if (timed) return { type: timed, isAdjustedToUTC: true, unit } as LogicalType;
  const [, sign, bits] = /^(U?)INT_(\d+)$/.exec(converted_type ?? '') ?? [];
  if (bits) return { type: 'INTEGER', isSigned: sign === '', bitWidth: Number(bits) };
  if (converted_type === 'DECIMAL') return { type: 'DECIMAL', scale: scale ?? 0, precision: precision ?? 38 };
  if (converted_type === 'UTF8') return { type: 'STRING' };
  return converted_type ? ({ type: converted_type } as LogicalType) : null;
}

/** Whether values are plain text, which is copied without being decoded. */
export function isText(element: SchemaElement): boolean {
  const meaning = meaningOf(element);
  return element.type === 'BYTE_ARRAY' && (!meaning || meaning.type === 'STRING' || meaning.type === 'ENUM');
}

export const isJson = (element: SchemaElement): boolean => meaningOf(element)?.type === 'JSON';

const isUnsigned = (meaning: LogicalType | null): boolean => meaning?.type === 'INTEGER' && !meaning.isSigned;

/** Whether values are unsigned, of 32 bits. */
export const isUnsigned32 = (element: SchemaElement): boolean =>
  element.type === 'INT32' && isUnsigned(meaningOf(element));

/** Whether a bound of a column is an integer that a double cannot hold. */
export function isWide(element: SchemaElement, bound: unknown): boolean {
  const meaning = meaningOf(element);
  if (typeof bound !== 'bigint' || (meaning && meaning.type !== 'INTEGER')) return false;
  return !Number.isSafeInteger(Number(isUnsigned(meaning) ? BigInt.asUintN(64, bound) : bound));
}

const NANOS = { MILLIS: 1_000_000n, MICROS: 1000n, NANOS: 1n } as const;
/** Any number with this many digits is exact in a double. */
const EXACT_DIGITS = 15;

/**
 * Returns the function that converts a column's values to JSON.
 * @param wide the column has 64-bit integers that a double cannot hold: all of its integers become text
 */
export function converterOf(element: SchemaElement, wide = false): Convert {
  const meaning = meaningOf(element);
  switch (meaning?.type) {
    case 'DECIMAL': {
      const text: Convert = (raw) => decimalText(unscaled(raw), meaning.scale);
      return meaning.precision > EXACT_DIGITS ? text : (raw) => Number(text(raw));
    }
    case 'TIME':
      return (raw) => timeText(BigInt(raw) * NANOS[meaning.unit]);
    case 'TIMESTAMP': {
      const zone = meaning.isAdjustedToUTC ? 'Z' : '';
      return (raw) => timestampText(BigInt(raw) * NANOS[meaning.unit], zone);
    }
  }
  switch (element.type) {
    case 'BOOLEAN':
      return Boolean;
    case 'INT32':
      if (meaning?.type === 'DATE') return dateText;
      return isUnsigned(meaning) ? (raw: number) => raw >>> 0 : (raw: number) => raw;
    case 'INT64': {
      const exact = isUnsigned(meaning) ? (raw: Raw) => BigInt.asUintN(64, BigInt(raw)) : (raw: Raw) => raw;
      return wide ? (raw) => String(exact(raw)) : (raw) => exactNumber(exact(raw), 0);
    }
    case 'INT96':
      return (nanos: bigint) => timestampText(nanos, 'Z'); // Spark, which writes most of these, means UTC
    case 'FLOAT':
      return float32;
    case 'DOUBLE':
      return finite;
    case 'FIXED_LEN_BYTE_ARRAY':
      if (meaning?.type === 'UUID') return uuidText;
      return meaning?.type === 'FLOAT16' ? finite : base64;
    default:
      if (isText(element)) return (raw: Uint8Array) => textOf(raw, meaning !== null);
      return isJson(element) ? (raw: Uint8Array) => jsonValue(textOf(raw, true)) : base64;
  }
}

/** Converts a column of a variant: each value has the type that it would have in the variant's bytes. */
export function variantConverter(element: SchemaElement): Convert {
  const meaning = meaningOf(element);
  if (meaning?.type === 'DECIMAL') return (raw) => exactNumber(unscaled(raw), meaning.scale);
  return element.type === 'BYTE_ARRAY' && meaning === null ? base64 : converterOf(element);
}

/** An integer, or bytes that are one in two's complement, highest byte first. */
function unscaled(raw: Raw): bigint {
  if (!(raw instanceof Uint8Array)) return BigInt(raw);
  return BigInt.asIntN(raw.length * 8, BigInt(`0x0${Buffer.from(raw).toString('hex')}`));
}

/** A number as far as a double holds it with certainty, text beyond. */
export function exactNumber(digits: bigint, decimals: number): JsonValue {
  if (decimals === 0 && Number.isSafeInteger(Number(digits))) return Number(digits);
  const text = decimalText(digits, decimals);
  const isExact = decimals !== 0 && String(digits < 0n ? -digits : digits).length <= EXACT_DIGITS;
  return isExact ? Number(text) : text;
}

function decimalText(unscaled: bigint, decimals: number): string {
  const sign = unscaled < 0n ? '-' : '';
  const digits = String(unscaled < 0n ? -unscaled : unscaled);
  if (decimals <= 0) return `${sign}${digits}${digits === '0' ? '' : '0'.repeat(-decimals)}`;
  const padded = digits.padStart(decimals + 1, '0');
  return `${sign}${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`;
}

/** The value of a JSON text; the text itself if it is not JSON. */
function jsonValue(text: string): JsonValue {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
  const loss = lossIn(text);
  if (loss === null) return value;
  throw new BadValueError(loss, text);
}

const DAY_MILLIS = 86_400_000;
const FIRST_MILLIS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MILLIS = Date.parse('9999-12-31T23:59:59.999Z');

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

export const dateText = (days: number): string => isoOf(days * DAY_MILLIS, (iso) => iso.split('T')[0]!);

const SECOND = 1_000_000_000n;
const DAY_NANOS = 86_400n * SECOND;

/** Text of nanoseconds since 1970. A fraction has 3, 6, or 9 digits, as few as possible. */
export function timestampText(nanos: bigint, zone: string): string {
  const rest = ((nanos % SECOND) + SECOND) % SECOND;
  const digits = String(rest)
    .padStart(9, '0')
    .replace(/(?:000){1,3}$/, '');
  const fraction = digits === '' ? '' : `.${digits}`;
  return isoOf(Number((nanos - rest) / 1_000_000n), (iso) => iso.slice(0, -5) + fraction + zone);
}

/** Text of nanoseconds since midnight. */
export const timeText = (nanos: bigint): string =>
  timestampText(((nanos % DAY_NANOS) + DAY_NANOS) % DAY_NANOS, '').split('T')[1]!;

/** JSON has only finite numbers: NaN becomes a missing value, as in pandas, and an infinity becomes text. */
export function finite(value: number): JsonValue {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? null : String(value);
}

/** The shortest decimal that rounds to the same smaller float: 0.1, not 0.10000000149011612. */
export function float32(value: number): JsonValue {
  if (!Number.isFinite(value) || Number.isInteger(value)) return finite(value);
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Never in a text, and often in other bytes that happen to be valid UTF-8. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

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

const base64 = (raw: Uint8Array): string => Buffer.from(raw).toString('base64');

export const uuidText = (raw: Uint8Array): string =>
  Buffer.from(raw)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
