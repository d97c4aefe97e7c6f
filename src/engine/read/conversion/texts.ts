/** Types for words: booleans, text as it is, and text in lower case. */
import type { CellType } from '../../model.js';
import { jsonString } from '../json/text.js';
import { BadType, type Reader, type TypeOfColumn } from './type.js';

const PLAIN_WORDS = ['true/false', 'yes/no', 'y/n', 'on/off', '1/0'];

/** The words of other languages and of spreadsheets, the commonest first. */
const OTHER_WORDS = [
  ...['ja/nein', 'j/n', 'oui/non', 'sí/no', 'si/no', 'sim/não', 'sim/nao', 'ja/nee', 'ja/nej', 'tak/nie'],
  ...['ano/ne', 'да/нет', 'wahr/falsch', 'vrai/faux', 'verdadero/falso', 'vero/falso'],
  ...['aktiv/inaktiv', 'active/inactive', 'enabled/disabled'],
];
export const BOOLEAN_TYPES: readonly CellType[] = OTHER_WORDS.map((pair) => `boolean:${pair}` as const);

const reader = (read: Reader['read']): Reader => ({ read, cause: () => ({ code: 'form' }) });

/** @throws BadType for a pair that is none */
function words(pairs: readonly string[]): Reader {
  const known = new Map<string, string>();
  for (const pair of pairs) {
    const [yes, no, more] = pair.toLowerCase().split('/');
    if (!yes || !no || more !== undefined || yes === no) {
      throw new BadType('does not name two words with a / between them', 'such as boolean:Yes/No');
    }
    known.set(yes, 'true').set(no, 'false');
  }
  return reader((text) => known.get(text) ?? known.get(text.toLowerCase()) ?? null);
}

const ANY_WORDS = words([...PLAIN_WORDS, ...OTHER_WORDS]);

export const TEXT_TYPES: readonly TypeOfColumn[] = [
  {
    name: 'string',
    sent: 'string',
    noun: 'texts',
    isBare: true,
    parse: () => null,
    examples: [['string', 'text, as it is']],
  },
  {
    name: 'boolean',
    sent: 'boolean',
    noun: 'booleans',
    parse: (form) => words(form === null ? PLAIN_WORDS : [form]),
    guess: (text) => (/\d/.test(text) || ANY_WORDS.read(text) === null ? [] : ['boolean', ...BOOLEAN_TYPES]),
    examples: [
      ['boolean', 'true/false, yes/no, y/n, on/off, 1/0, in any case'],
      ['boolean:ja/nein', 'these two words, in any case'],
    ],
  },
  {
    name: 'lower',
    sent: 'string',
    noun: 'texts',
    isBare: true,
    parse: () => reader((text) => jsonString(text.toLowerCase())),
    examples: [['lower', 'lower case; the only type that an identifier may have']],
  },
];
