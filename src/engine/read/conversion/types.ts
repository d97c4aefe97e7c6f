/** The types of columns (contract §3 "Types"), and types as they are written in a rule: `date:MM/dd/yyyy`. */
import { UsageError } from '../../errors.js';
import { type CellType, COLUMN_TYPES, type ColumnType, type Conversion, SOME_ZONE } from '../../model.js';
import { nearest } from '../../util/nearest.js';
import { codePoint, quoted, type Refusal } from '../wording.js';
import { DATE_TYPES } from './date-types.js';
import { datePattern } from './dates.js';
import { NUMBER_TYPES, styleOf } from './numbers.js';
import { TEXT_TYPES } from './texts.js';
import { BadType, type Reader, scratchText, type TypeOfColumn } from './type.js';

/** A new type is an object in one of these. */
export const TYPES: readonly TypeOfColumn[] = [...NUMBER_TYPES, ...TEXT_TYPES, ...DATE_TYPES];
const NAMED = new Map<string, TypeOfColumn>(TYPES.map((type) => [type.name, type]));

/** The parts of `datetime:dd.MM.yyyy HH:mm@Europe/Berlin`; those that it does not have are null. */
interface TypeParts {
  name: string;
  form: string | null;
  zone: string | null;
}

export function partsOf(type: string): TypeParts {
  const [, name = type, rest = ''] = /^(datetime(?=@)|[a-z]+(?!@))((?:[:@][\s\S]*)?)$/.exec(type) ?? [];
  const at = name === 'datetime' ? rest.lastIndexOf('@') : -1;
  const form = at < 0 ? rest : rest.slice(0, at);
  return {
    name,
    form: form.startsWith(':') ? form.slice(1) : null,
    zone: at < 0 ? null : rest.slice(at + 1),
  };
}

export const typeNamed = (type: string): TypeOfColumn => NAMED.get(partsOf(type).name)!;

/**
 * Checks a type.
 * @param name of the setting, for the error
 * @throws UsageError
 */
export function cellType(text: string, name: string): CellType | 'auto' {
  if (text === 'auto') return text;
  const { form, zone, ...parts } = partsOf(text);
  const type = NAMED.get(parts.name);
  if (!type) {
    const names = [...NAMED.keys(), 'auto'];
    const like = nearest(parts.name, names);
    throw new UsageError(`${name}: "${text}" is not one of ${names.join(', ')}`, {
      hint: like ? `did you mean ${like}?` : undefined,
    });
  }
  try {
    if (form === '') throw new BadType('has nothing after the colon');
    if (zone !== null && /^<.*>$/.test(zone)) {
      throw new BadType(`needs the zone of its times in place of ${zone}`, 'such as Europe/Berlin or UTC');
    }
    if (type.isBare && form !== null) {
      throw new BadType('takes nothing after its name', `write ${type.name}`);
    }
    type.parse(form, zone);
  } catch (error) {
    if (!(error instanceof BadType)) throw error;
    throw new UsageError(`${name}: "${text}" ${error.message}`, { hint: error.hint });
  }
  return text as CellType;
}

export interface Converter extends Reader {
  /** JSON text; null for a text that does not fit. */
  json(text: string): string | null;
}

/** Null for columns that are sent as they are. */
export function converterOf(type: CellType): Converter | null {
  const { name, form, zone } = partsOf(type);
  const reader = NAMED.get(name)?.parse(form, zone);
  if (!reader) return null;
  const json = (text: string): string | null => {
    const found = reader.read(text);
    return found === '' ? scratchText() : found;
  };
  return { ...reader, json };
}

/** The JSON type of what is sent. */
export const sentAs = (type: CellType): ColumnType => typeNamed(type).sent;

/** The plan's description of a column: the JSON type of what is sent, and how its text is read. */
export function sentType(type: CellType): { type: ColumnType; conversion?: Conversion } {
  const plain = COLUMN_TYPES.find((known) => known === type);
  return plain ? { type: plain } : { type: sentAs(type), conversion: type as Conversion };
}

/** The type with this time zone, if it needs one and names none. */
export function zoned(type: string, zone: string | undefined): string {
  const { name, form, zone: own } = partsOf(type);
  if (zone === undefined || name !== 'datetime' || form === 'epoch') return type;
  if (own === SOME_ZONE) return type.replace(`@${SOME_ZONE}`, `@${zone}`);
  return own !== null || hasOffsetIn(form) ? type : `${type}@${zone}`;
}

function hasOffsetIn(form: string | null): boolean {
  try {
    return form !== null && form !== 'iso' && datePattern(form).hasOffset;
  } catch {
    return false; // `cellType` says what is wrong with it
  }
}

/** Numbers whose point is for thousands. */
export const POINT_FOR_THOUSANDS = 'number:1.234,56';

/** Whether a type shows how the numbers of its file are written. */
export const isStyled = (type: string): boolean => /^(?:number:|money|percent:)/.test(type);

export const isSameStyle = (a: string, b: string): boolean => styleName(a) === styleName(b);
const styleName = (type: string): string => partsOf(type).form ?? '1,234.56';

/** The sign before decimals in a column of this type: another one than those between groups. */
export function decimalSign(type: CellType): string {
  const { name, form } = partsOf(type);
  const style = name === 'number' || name === 'money' ? form && styleOf(form) : null;
  return style ? style.decimal || (style.group === '.' ? ',' : '.') : '.';
}

/** The most characters that a sentence names. */
const MOST_SHOWN = 5;

/** Why a text does not fit its column's type. */
export function misfit(column: string, text: string, type: CellType, converter: Converter): Refusal {
  const found = converter.cause(text);
  const { characters = [] } = found;
  const shown = characters.slice(0, MOST_SHOWN).map((character) => `"${visible(character)}"`);
  if (characters.length > MOST_SHOWN) shown.push('others');
  const last = shown.pop();
  const names = shown.length === 0 ? `${last} is` : `${shown.join(', ')} and ${last} are`;
  const detail = {
    type: '',
    characters: `: ${names} in the way`,
    form: '',
    range: ': there is no such day or time',
    zone: partsOf(type).zone === null ? ': it has no offset' : ': the clocks there skip that time',
    digits: ': a number cannot hold so many digits exactly',
  }[found.code];
  return {
    reason: `${column}: ${quoted(text)} is not of type ${type}${detail}`,
    cause: { column, type, ...found },
  };
}

/** An invisible character as its code point. */
const visible = (character: string): string =>
  /[\p{C}\p{Z}]/u.test(character) && character !== ' ' ? codePoint(character) : character;
