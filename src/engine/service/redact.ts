/** Keeps the API key out of what the service says, however its characters are escaped. */

const REDACTED = '[token]';
/** A shorter key is that of a test, and may be a part of any word. */
const SHORTEST = 8;

const NAMED: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

/** How JSON, HTML, and a URL write an ASCII character. JSON in JSON has more backslashes. */
function spellings(character: string): string {
  const hex = character.charCodeAt(0).toString(16);
  const either = hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const plain = `\\${character}`.replace(/^\\(?=\w)/, '');
  const named = NAMED[character] ? `|&${NAMED[character]};` : '';
  return `(?:\\\\{0,7}(?:${plain}|u00${either}|x${either})|%${either}|&#0*${character.charCodeAt(0)};?|&#[xX]0*${either};?${named})`;
}

/** Returns a function that replaces the key in a text. */
export function redactor(token: string): (text: string) => string {
  if (token.length < SHORTEST) return (text) => text;
  const pattern = new RegExp(Array.from(token, spellings).join(''), 'g');
  return (text) => text.replace(pattern, REDACTED);
}

/** Whether a text held the key. */
export const isRedacted = (text: string): boolean => text.includes(REDACTED);
