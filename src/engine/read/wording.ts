/** Why a row cannot be sent, and how cells, values and names are shown in messages. */
import type { Cause } from '../model.js';

/** A cell that rules a type out, and where it is. */
export interface Evidence {
  line: number;
  text: string;
}

/** A cell: in quotes, cut when it is long. */
export function quoted(text: string, most = 60): string {
  return text.length > most ? `"${text.slice(0, most)}…"` : `"${text}"`;
}

/** A text in quotes whose invisible characters are shown as their code points: `"a<U+200B>b"`. */
export const codePoints = (text: string): string =>
  quoted(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]|(?! )\p{Zs}/gu, (sign) => {
    return `<U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}>`;
  });

/** A JSON value. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return '[…]';
  return typeof value === 'object' && value !== null ? '{…}' : String(value);
}

/** Names in a sentence, the first twenty. */
export function list(names: readonly string[]): string {
  const some = names.slice(0, 20).join(', ');
  return names.length > 20 ? `${some} and ${names.length - 20} more` : some;
}

/** A sentence, and what is wrong in which column, where one is at fault. */
export type Refusal = string | { reason: string; cause: Cause };
