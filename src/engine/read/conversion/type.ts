/** Types of columns as they are written in a rule: `money`, `date:MM/dd/yyyy`. */
import { UsageError } from '../../errors.js';
import { type CellType, COLUMN_TYPES, SOME_ZONE } from '../../model.js';
import { nearest } from '../../util/nearest.js';
import { codePoint, quoted, type Refusal } from '../wording.js';
import { type Converter, partsOf } from './converter.js';
import { styleOf } from './numerals.js';
import { BadPattern, datePattern } from './pattern.js';

/** The words that a type may begin with. */
const TYPE_NAMES = [...COLUMN_TYPES, 'money', 'percent', 'date', 'datetime', 'lower', 'auto'] as const;

/**
 * Parses a type.
 * @param name of the setting, for the error
 * @throws UsageError
 */
export function cellType(text: string, name: string): CellType | 'auto' {
  const wrong = (message: string, hint?: string): never => {
    throw new UsageError(`${name}: ${message}`, { hint });
  };
  const parts = partsOf(text);
  const { form, zone } = parts;
  const known = (TYPE_NAMES as readonly string[]).includes(parts.name);
  if (!known) {
    const like = nearest(parts.name, TYPE_NAMES);
    wrong(`"${text}" is not one of ${TYPE_NAMES.join(', ')}`, like ? `did you mean ${like}?` : undefined);
  }
  if (form === '') wrong(`"${text}" has nothing after the colon`);
  switch (parts.name) {
    case 'number':
    case 'money':
    case 'percent':
      if (form !== null && styleOf(form) === null) {
        wrong(
          `"${form}" does not show how the numbers are written`,
          'write one with grouping and decimals, such as 1,234.56 or 1.234,56',
        );
      }
      break;
    case 'boolean':
      if (form !== null) checkWords(form, wrong);
      break;
    case 'date':
    case 'datetime':
      checkDate(text, parts, wrong);
      break;
    default:
      if (form !== null) wrong(`${parts.name} takes nothing after it`, `write ${parts.name}`);
  }
  if (zone === '') wrong(`"${text}" names no zone after the @`, 'such as Europe/Berlin or UTC');
  return text as CellType;
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

function checkWords(form: string, wrong: (message: string, hint?: string) => never): void {
  const [yes, no, more] = form.split('/').map((word) => word.toLowerCase());
  if (yes && no && more === undefined && yes !== no) return;
  wrong(`"${form}" is not two words with a / between them`, 'such as boolean:Yes/No');
}

function checkDate(
  text: string,
  { name, form, zone }: ReturnType<typeof partsOf>,
  wrong: (message: string, hint?: string) => never,
): void {
  if (zone !== null && /^<.*>$/.test(zone)) {
    wrong(`name the zone of its times in place of ${zone}`, 'such as Europe/Berlin or UTC');
  }
  if (form === null || form === 'iso') return;
  if (form === 'epoch' && name === 'datetime') {
    if (zone !== null) wrong(`"${text}": epoch time has no zone`, 'write datetime:epoch');
    return;
  }
  let hasOffset = false;
  try {
    ({ hasOffset } = datePattern(form));
  } catch (error) {
    if (!(error instanceof BadPattern)) throw error;
    wrong(`the pattern "${form}": ${error.message}`);
  }
  if (name === 'datetime' && zone === null && !hasOffset) {
    wrong(
      `"${text}" does not say in which zone the times are`,
      `write the zone after an @: ${text}@Europe/Berlin, or ${text}@UTC`,
    );
  }
}

/** Why a text does not fit its column's type. */
export function misfit(column: string, text: string, type: CellType, converter: Converter): Refusal {
  const found = converter.cause(text);
  const detail = {
    type: '',
    characters: `: ${inTheWay(found.characters ?? [])}`,
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

/** The most characters that a sentence names. */
const MOST_SHOWN = 5;

function inTheWay(characters: readonly string[]): string {
  const shown = characters.slice(0, MOST_SHOWN).map((character) => `"${visible(character)}"`);
  if (characters.length > MOST_SHOWN) shown.push('others');
  const last = shown.pop()!;
  return shown.length === 0 ? `${last} is in the way` : `${shown.join(', ')} and ${last} are in the way`;
}

/** An invisible character as its code point. */
const visible = (character: string): string =>
  /[\p{C}\p{Z}]/u.test(character) && character !== ' ' ? codePoint(character) : character;
