/** Converts the values of Parquet columns to JSON. Nothing is rounded, and each column keeps one type. */
import type { SchemaElement } from 'hyparquet';
import { parseFloat16 } from 'hyparquet/src/convert.js';
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
// biome-ignore lint/suspicious/noExplicitAny: each physical type has another one
type Raw = any;
type Convert = (raw: Raw) => JsonValue;

/** Any number with this many digits is exact in a double. */
export const EXACT_DIGITS = 15;

/** Whether values are plain text: the common case, which is copied without being decoded. */
export const isText = ({ type, converted_type, logical_type }: SchemaElement): boolean =>
  type === 'BYTE_ARRAY' &&
  (converted_type === undefined || converted_type === 'UTF8' || converted_type === 'ENUM') &&
  (logical_type === undefined || logical_type.type === 'STRING' || logical_type.type === 'ENUM');

export const isJson = ({ converted_type, logical_type }: SchemaElement): boolean =>
  converted_type === 'JSON' || logical_type?.type === 'JSON';

/**
 * Returns the function that converts a column's values to JSON.
 * @param wide the column has 64-bit integers that a double cannot hold: all of its integers become text
 */
export function converterOf(element: SchemaElement, wide: boolean): Convert {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') return decimal(element);
  switch (type) {
    case 'BOOLEAN':
      return (raw: boolean | number) => Boolean(raw);
    case 'INT32':
      if (converted === 'DATE' || logical?.type === 'DATE') return (days: number) => dateText(days);
      if (converted === 'TIME_MILLIS' || logical?.type === 'TIME') {
        return (millis: number) => timeText(BigInt(millis) * 1_000_000n);
      }
      return isUnsigned(element) ? (raw: number) => raw >>> 0 : (raw: number) => raw;
    case 'INT64':
      return int64(element, wide);
    case 'INT96':
      return (raw: bigint) => int96Text(raw);
    case 'FLOAT':
      return float32;
    case 'DOUBLE':
      return finite;
    case 'FIXED_LEN_BYTE_ARRAY':
      if (logical?.type === 'UUID') return uuidText;
      if (logical?.type === 'FLOAT16') {
        return (raw: Uint8Array) => shortest(parseFloat16(raw) ?? Number.NaN, 3, 6, fround16);
      }
      return base64;
    default:
      if (isText(element)) return (raw: Uint8Array) => textOf(raw, converted !== undefined || !!logical);
      if (isJson(element)) return (raw: Uint8Array) => jsonValue(textOf(raw, true));
      return base64;
  }
}

export const isUnsigned = ({ converted_type, logical_type }: SchemaElement): boolean =>
  converted_type?.startsWith('UINT_') === true ||
  (logical_type?.type === 'INTEGER' && !logical_type.isSigned);

/** Whether a column has 64-bit integers that are neither times nor decimals. */
export const isPlainInt64 = ({ type, converted_type: converted, logical_type: logical }: SchemaElement) =>
  type === 'INT64' &&
  (converted === undefined || /^U?INT_/.test(converted)) &&
  (logical === undefined || logical.type === 'INTEGER');

/** The results of the page decoders. */
export type List = readonly unknown[] | BigInt64Array | Float64Array | Float32Array | Int32Array | Uint8Array;

/** The numbers of a page, in one type of list for all widths; null for other values. @param room memory for them */
export function numbersOf(list: List, narrows: boolean, room: () => Float64Array): Float64Array | null {
  if (list instanceof BigInt64Array) return narrows ? narrow(list, room()) : null;
  if (list instanceof Float64Array) return list;
  if (!ArrayBuffer.isView(list)) return null;
  const numbers = room();
  numbers.set(list);
  return numbers;
}

/** Bigints as numbers, which are much faster; null if a double cannot hold one of them. */
function narrow(list: BigInt64Array, numbers: Float64Array): Float64Array | null {
  const halves = new Int32Array(list.buffer, list.byteOffset, list.length * 2);
  for (let at = 0; at < numbers.length; at++) {
    const number = halves[2 * at + 1]! * 0x1_0000_0000 + (halves[2 * at]! >>> 0);
    if (!Number.isSafeInteger(number)) return null;
    numbers[at] = number;
  }
  return numbers;
}

/** Whether a column has signed integers or doubles, and no times or decimals. */
export const isPlainNumber = (element: SchemaElement): boolean => {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (type === 'DOUBLE') return true;
  const isPlain = type === 'INT64' ? isPlainInt64(element) : type === 'INT32';
  return (
    isPlain &&
    (converted === undefined || /^INT_/.test(converted)) &&
    (logical === undefined || (logical.type === 'INTEGER' && logical.isSigned))
  );
};

const NANOS = { MILLIS: 1_000_000n, MICROS: 1000n, NANOS: 1n } as const;

function int64(element: SchemaElement, wide: boolean): Convert {
  const { converted_type: converted, logical_type: logical } = element;
  if (logical?.type === 'TIMESTAMP') {
    const zone = logical.isAdjustedToUTC ? 'Z' : '';
    return (raw: bigint) => timestampText(raw * NANOS[logical.unit], zone);
  }
  if (logical?.type === 'TIME') return (raw: bigint) => timeText(raw * NANOS[logical.unit]);
  if (converted === 'TIMESTAMP_MILLIS') return (raw: bigint) => timestampText(raw * 1_000_000n, 'Z');
  if (converted === 'TIMESTAMP_MICROS') return (raw: bigint) => timestampText(raw * 1000n, 'Z');
  if (converted === 'TIME_MICROS') return (raw: bigint) => timeText(raw * 1000n);
  const exact = isUnsigned(element) ? (raw: bigint) => BigInt.asUintN(64, raw) : (raw: bigint) => raw;
  if (wide) return (raw: bigint) => String(exact(raw));
  return (raw: bigint | number) => {
    if (typeof raw === 'number') return raw;
    const number = Number(exact(raw));
    return Number.isSafeInteger(number) ? number : String(exact(raw));
  };
}

function decimal(element: SchemaElement): Convert {
  const { scale, precision, logical_type: logical } = element;
  const [decimals, digits] =
    logical?.type === 'DECIMAL' ? [logical.scale, logical.precision] : [scale ?? 0, precision ?? 38];
  if (digits > EXACT_DIGITS) return (raw) => decimalText(unscaled(raw), decimals);
  return (raw) => Number(decimalText(unscaled(raw), decimals));
}

const unscaled = (raw: Raw): bigint => (raw instanceof Uint8Array ? bigEndian(raw) : BigInt(raw));

/** Converts a column of a variant: each value has the type that it would have in the variant's bytes. */
export function variantConverter(element: SchemaElement): Convert {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') {
    const decimals = logical?.type === 'DECIMAL' ? logical.scale : (element.scale ?? 0);
    return (raw) => exact(unscaled(raw), decimals);
  }
  const isBinary = type === 'BYTE_ARRAY' && converted === undefined && logical === undefined;
  return isBinary ? base64 : converterOf(element, false);
}

/** A number as far as a double holds it with certainty, text beyond. */
export function exact(unscaled: bigint, scale: number): JsonValue {
  const text = decimalText(unscaled, scale);
  if (scale === 0) return Number.isSafeInteger(Number(unscaled)) ? Number(unscaled) : text;
  const digits = String(unscaled < 0n ? -unscaled : unscaled).length;
  return digits <= EXACT_DIGITS ? Number(text) : text;
}

/** The value of a JSON text; the text itself if it is not JSON. */
function jsonValue(text: string): JsonValue {
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

/** Reads two's complement, highest byte first. */
function bigEndian(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
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
function int96Text(raw: bigint): string {
  const days = (raw >> 64n) - 2_440_588n;
  return timestampText(days * DAY_NANOS + BigInt.asUintN(64, raw), 'Z');
}

/** JSON has only finite numbers: NaN becomes a missing value, as in pandas, and an infinity becomes text. */
export function finite(value: number): JsonValue {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? null : String(value);
}

/** The shortest decimal that rounds to the same smaller float: 0.1, not 0.10000000149011612. */
function shortest(value: number, least: number, most: number, round: (value: number) => number): JsonValue {
  if (!Number.isFinite(value) || Number.isInteger(value)) return finite(value);
  for (let digits = least; digits < most; digits++) {
    const short = Number(value.toPrecision(digits));
    if (round(short) === value) return short;
  }
  return Number(value.toPrecision(most));
}

export const float32 = (value: number): JsonValue => shortest(value, 6, 9, Math.fround);

/** Rounds to the 11 binary digits of a half float. */
function fround16(value: number): number {
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

const base64 = (raw: Uint8Array): string => Buffer.from(raw).toString('base64');

export function uuidText(raw: Uint8Array): string {
  const hex = Buffer.from(raw).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
