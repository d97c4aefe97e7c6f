/** Converts the text of a column with a pinned type (contract §3 "Types"). */
import { type Cause, type CellType, COLUMN_TYPES, type ColumnType, type Conversion } from '../../model.js';
import { jsonString } from '../json/text.js';
import { isPlain } from '../mapping/plain-number.js';
import { type DateParts, isDay, isTime, utc } from './calendar.js';
import { ISO_8601, ISO_DATE } from './iso-8601.js';
import { ENGLISH, NumberReader, styleOf } from './numerals.js';
import { type DatePattern, datePattern } from './pattern.js';
import { type Zone, zoneOf } from './zones.js';

export interface Converter {
  /** JSON text; null for a text that does not fit. */
  json(text: string): string | null;
  /** Size of `json(text)` in bytes, without creating it; -1 for a text that does not fit. */
  size(text: string): number;
  /** Why a text does not fit. */
  cause(text: string): Pick<Cause, 'code' | 'characters'>;
}

/** The parts of `datetime:dd.MM.yyyy HH:mm@Europe/Berlin`; those that it does not have are null. */
export interface TypeParts {
  name: string;
  form: string | null;
  zone: string | null;
}

export function partsOf(type: string): TypeParts {
  const [, name = type, form = null] = /^([a-z]+)(?::([\s\S]*))?$/.exec(type) ?? [];
  if (!type.startsWith('datetime')) return { name, form, zone: null };
  const at = type.lastIndexOf('@');
  const before = at < 0 ? type : type.slice(0, at);
  return {
    name: 'datetime',
    form: before.startsWith('datetime:') ? before.slice('datetime:'.length) : null,
    zone: at < 0 ? null : type.slice(at + 1),
  };
}

const SENT: Record<string, ColumnType> = {
  integer: 'integer',
  number: 'number',
  money: 'number',
  percent: 'number',
  boolean: 'boolean',
};

/** The JSON type of what is sent. */
export const sentAs = (type: CellType): ColumnType => SENT[partsOf(type).name] ?? 'string';

/** The plan's description of a column: the JSON type of what is sent, and how its text is read. */
export function sentType(type: CellType): { type: ColumnType; conversion?: Conversion } {
  const plain = COLUMN_TYPES.find((known) => known === type);
  return plain ? { type: plain } : { type: sentAs(type), conversion: type as Conversion };
}

/** Null for columns that are sent as they are. Zones must be loaded. */
export function converterOf(type: CellType): Converter | null {
  const { name, form, zone } = partsOf(type);
  switch (name) {
    case 'integer':
    case 'number':
      return form === null ? plain(name) : numbers(form, 'nothing');
    case 'money':
      return numbers(form, 'currency');
    case 'percent':
      return numbers(form, 'percent');
    case 'boolean':
      return words(form === null ? PLAIN_WORDS : [form.split('/') as [string, string]]);
    case 'date':
      return dates(form === null || form === 'iso' ? ISO_DATE : datePattern(form));
    case 'datetime':
      if (form === 'epoch') return EPOCH;
      return datetimes(
        form === null || form === 'iso' ? ISO_8601 : datePattern(form),
        zone === null ? null : zoneOf(zone),
      );
    case 'lower':
      return {
        json: (text) => jsonString(text.toLowerCase()),
        size: (text) => Buffer.byteLength(jsonString(text.toLowerCase())),
        cause: () => ({ code: 'form' }),
      };
    default:
      return null;
  }
}

/** Length in bytes, for ASCII. */
const lengthOf = (json: string | null): number => json?.length ?? -1;

function plain(type: 'integer' | 'number'): Converter {
  return {
    size: (text) => (isPlain(text, type) ? text.length : -1),
    json: (text) => (isPlain(text, type) ? text : null),
    cause(text) {
      const characters = [...new Set(text.match(type === 'integer' ? /[^\d-]/gu : /[^\d.-]/gu) ?? [])];
      if (characters.length > 0) return { code: 'characters', characters };
      return { code: /^-?[1-9]\d*(?:\.\d+)?$/.test(text) ? 'digits' : 'form' };
    },
  };
}

function numbers(example: string | null, around: 'nothing' | 'currency' | 'percent'): Converter {
  const reader = new NumberReader(example === null ? ENGLISH : styleOf(example)!, around);
  return {
    json: (text) => (text === '' ? null : reader.read(text)),
    size: (text) => (text === '' ? -1 : reader.size(text)),
    cause(text) {
      const characters = reader.foreign(text);
      if (characters.length > 0) return { code: 'characters', characters };
      return { code: reader.isInexact(text) ? 'digits' : 'form' };
    },
  };
}

const PLAIN_WORDS: readonly [yes: string, no: string][] = [
  ['true', 'false'],
  ['yes', 'no'],
  ['y', 'n'],
  ['on', 'off'],
  ['1', '0'],
];

/** Types for the words of other languages and of spreadsheets, the commonest first. */
export const BOOLEAN_TYPES = [
  ...['ja/nein', 'j/n', 'oui/non', 'sí/no', 'si/no', 'sim/não', 'sim/nao', 'ja/nee', 'ja/nej', 'tak/nie'],
  ...['ano/ne', 'да/нет', 'wahr/falsch', 'vrai/faux', 'verdadero/falso', 'vero/falso'],
  ...['aktiv/inaktiv', 'active/inactive', 'enabled/disabled'],
].map((pair) => `boolean:${pair}` as const);

function words(pairs: readonly (readonly [yes: string, no: string])[]): Converter {
  const known = new Map(
    pairs.flatMap(([yes, no]) => [
      [yes.toLowerCase(), 'true'],
      [no.toLowerCase(), 'false'],
    ]),
  );
  const json = (text: string): string | null => known.get(text) ?? known.get(text.toLowerCase()) ?? null;
  return { json, size: (text) => lengthOf(json(text)), cause: () => ({ code: 'form' }) };
}

/** Two digits; a table is faster than arithmetic. */
const TWO = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'));
const pad = (n: number): string => TWO[n]!;
const dateText = ({ year, month, day }: DateParts): string =>
  `${year < 1000 ? String(year).padStart(4, '0') : year}-${pad(month)}-${pad(day)}`;

/** The parts of a text with an existing day and time; 24:00 becomes 0:00 of the next day. */
function pointOf(pattern: DatePattern, text: string): DateParts | null {
  const parts = pattern.read(text);
  if (parts === null || !isDay(parts) || !isTime(parts)) return null;
  return parts.hour === 24 ? { ...partsAt(utc(parts)), fraction: '', offset: parts.offset } : parts;
}

function partsAt(ms: number): DateParts {
  const date = new Date(ms);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    fraction: '',
    offset: 0,
  };
}

function obstacleOf(pattern: DatePattern, text: string): Pick<Cause, 'code' | 'characters'> {
  if (pattern.read(text) !== null) return { code: 'range' };
  const character = pattern.obstacle(text);
  return character === '' || /\d/.test(character)
    ? { code: 'form' }
    : { code: 'characters', characters: [character] };
}

function dates(pattern: DatePattern): Converter {
  const json = (text: string): string | null => {
    const parts = pointOf(pattern, text);
    return parts === null || parts.year > 9999 ? null : `"${dateText(parts)}"`;
  };
  return {
    json,
    size: (text) => (Number.isNaN(pattern.plainUtc(text)) ? lengthOf(json(text)) : '"2024-03-31"'.length),
    cause: (text) => obstacleOf(pattern, text),
  };
}

function datetimes(pattern: DatePattern, zone: Zone | null): Converter {
  const json = (text: string): string | null => {
    const parts = pointOf(pattern, text);
    if (parts === null || parts.year > 9999) return null;
    if (parts.offset !== null) return rfc3339(parts, parts.offset);
    const offset = zone === null ? null : zone.offsetAt(utc(parts));
    return offset === null ? null : rfc3339(parts, offset);
  };
  return {
    json,
    size(text) {
      const local = pattern.plainUtc(text);
      const offset = Number.isNaN(local) || zone === null ? null : zone.offsetAt(local);
      if (offset === null || !Number.isInteger(offset)) return lengthOf(json(text));
      return (offset === 0 ? '"2024-03-31T10:00:00Z"' : '"2024-03-31T10:00:00+02:00"').length;
    },
    cause(text) {
      const parts = pointOf(pattern, text);
      return parts === null ? obstacleOf(pattern, text) : { code: parts.year > 9999 ? 'range' : 'zone' };
    },
  };
}

/** RFC 3339 with seconds. In UTC if the offset is not in whole minutes, as before there were time zones. */
function rfc3339(parts: DateParts, offset: number): string | null {
  if (!Number.isInteger(offset)) {
    const at = partsAt(Math.round(utc(parts) - offset * 60_000));
    return rfc3339({ ...at, fraction: parts.fraction }, 0);
  }
  const { hour, minute, second } = parts;
  const fraction = parts.fraction === '' ? '' : parts.fraction.replace(/0+$/, '');
  const time = `${pad(hour)}:${pad(minute)}:${pad(second)}${fraction === '' ? '' : `.${fraction}`}`;
  return `"${dateText(parts)}T${time}${offsetText(offset)}"`;
}

function offsetText(minutes: number): string {
  if (minutes === 0) return 'Z';
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${pad(Math.trunc(size / 60))}:${pad(size % 60)}`;
}

/** Numbers from here on are milliseconds, from March 1973 on. As seconds, this one would be in the year 5138. */
const LEAST_MS = 100_000_000_000;

function epochJson(text: string): string | null {
  const [, whole, fraction = ''] = /^(-?\d{1,15})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const number = Number(whole);
  const inMs = Math.abs(number) >= LEAST_MS;
  // Before 1970, a fraction would count backward: rare enough to refuse.
  if (fraction !== '' && (inMs || text.startsWith('-'))) return null;
  const ms = inMs ? number : number * 1_000;
  const parts = partsAt(ms);
  if (!(parts.year >= 0 && parts.year <= 9999)) return null;
  const digits = inMs ? String(((ms % 1_000) + 1_000) % 1_000).padStart(3, '0') : fraction;
  return rfc3339({ ...parts, fraction: digits }, 0);
}

const EPOCH: Converter = {
  json: epochJson,
  size: (text) => lengthOf(epochJson(text)),
  cause(text) {
    const characters = [...new Set(text.match(/[^\d.-]/gu) ?? [])];
    return characters.length > 0 ? { code: 'characters', characters } : { code: 'range' };
  },
};
