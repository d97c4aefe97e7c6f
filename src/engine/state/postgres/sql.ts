/** The parts of SQL that differ from SQLite's. */
import type { Value } from '../database.js';

const translated = new Map<string, string>();

/** Replaces `?` and `?1` with `$1`, except in texts, quoted names, and comments. */
export function translate(sql: string): string {
  const known = translated.get(sql);
  if (known !== undefined) return known;
  let next = 0;
  const made = sql.replace(
    /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d*)/g,
    (part, number?: string) => {
      if (number === undefined) return part;
      return `$${number === '' ? ++next : number}`;
    },
  );
  translated.set(sql, made);
  return made;
}

/** A name, quoted. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** A text, quoted, whatever the server's settings for backslashes. */
export const literal = (text: string): string =>
  `${text.includes('\\') ? ' E' : ''}'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/** Makes a value for `pg`: a text in PostgreSQL cannot contain NUL. */
export const parameter = (value: Value): unknown =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
