/** Converts SQL and values from the form for SQLite to that for PostgreSQL. */
import type { Value } from '../database.js';

const translated = new Map<string, string>();

/** Replaces `?` and `?1` with `$1`, except in texts, quoted names, and comments, and `instr` with `position`. */
export function translate(sql: string): string {
  const known = translated.get(sql);
  if (known !== undefined) return known;
  let next = 0;
  const made = sql
    .replace(/\binstr\((\w+), (\?\d*)\)/g, 'position($2 IN $1)')
    .replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d*)/g, (part, number?: string) => {
      if (number === undefined) return part;
      return `$${number === '' ? ++next : number}`;
    });
  translated.set(sql, made);
  return made;
}

/** Quotes a name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Quotes a text, in a form that does not depend on the server's setting for backslashes. */
export const literal = (text: string): string =>
  `${text.includes('\\') ? ' E' : ''}'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/** Makes a value for `pg`. Replaces NUL, which a text in PostgreSQL cannot contain. */
export const parameter = (value: Value): unknown =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
