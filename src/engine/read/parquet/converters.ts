/** Chooses how the values of a Parquet column are converted to JSON: each column keeps one type. */
import type { SchemaElement } from 'hyparquet';
import { parseFloat16 } from 'hyparquet/src/convert.js';
import {
  base64,
  dateText,
  decimalText,
  EXACT_DIGITS,
  exact,
  finite,
  float32,
  fround16,
  int96Text,
  type JsonValue,
  jsonValue,
  shortest,
  textOf,
  timestampText,
  timeText,
  uuidText,
} from './values.js';

// biome-ignore lint/suspicious/noExplicitAny: each physical type has another one
type Raw = any;
type Convert = (raw: Raw) => JsonValue;

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

/** Reads two's complement, highest byte first. */
function bigEndian(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}
