/**
 * Makes text from files and from the service safe for a terminal, and for the runner of GitHub Actions: no escape sequences, control characters, or
 * invisible characters. Direction marks can make a line read as another one, and zero-width characters can
 * make two identifiers look alike.
 */
import { hintLines } from '../advice/hint.js';
import type { Env, TextStream } from './terminal.js';

// biome-ignore lint/complexity/useRegexLiterals: escapes in a string can be read
const UNSAFE = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0]',
  'g',
);

/** One line: line breaks and tabs become spaces, other unsafe characters become visible as `\xNN` or `\uNNNN`. */
export function safeLine(text: string): string {
  return text.replace(UNSAFE, (c) => {
    if (c === '\n' || c === '\r' || c === '\t' || c === '\u2028' || c === '\u2029') return ' ';
    const code = c.codePointAt(0)!;
    return code < 0xa0 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`;
  });
}

/**
 * Spaces that look like the usual one, or are invisible. In a table they do no harm, but in a message they
 * often matter.
 */
const OTHER_SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;

/** Like `safeLine`, for a sentence about a value: unusual spaces become visible, too. */
export const safeMessage = (text: string): string =>
  safeLine(text).replace(OTHER_SPACES, (c) => `\\u${hex(c.charCodeAt(0), 4)}`);

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');

/**
 * JSON text for a terminal or a log. Characters that JSON allows unescaped in strings, but that a terminal would
 * interpret or not show (DEL, C1, direction marks), or a runner take as a command, become `\uXXXX`, which JSON
 * readers decode to the same text.
 */
export function safeJson(json: string): string {
  const visible = json.replace(UNSAFE, (c) =>
    c === '\n' || c === '\r' || c === '\t' ? c : `\\u${hex(c.charCodeAt(0), 4)}`,
  );
  return jsonWithoutForms(visible);
}

/** Like `safeLine`, for text of several lines. */
export const safeText = (text: string): string => text.split('\n').map(safeLine).join('\n');

/** A sentence and its hint for a terminal: unusual spaces are made visible, but not in a command, which is to be pasted. */
export function safeHint(text: string, platform: NodeJS.Platform): string {
  const [first = '', ...more] = hintLines(text, platform);
  return [safeMessage(first), ...more.map((line) => `  ${safeLine(line)}`)].join('\n');
}

/** True in a GitHub Actions job. */
export const inGitHubActions = (env: Env): boolean => env.GITHUB_ACTIONS === 'true';

const IGNORED = '\\p{Cc}\\p{Cf}\\p{Mn}\\p{Me}\\p{Default_Ignorable_Code_Point}';
const GAP = `(?:(?![\\r\\n])[${IGNORED}])*`;
const BLANK = `(?:(?![\\r\\n])[\\s${IGNORED}])*`;
/** All of a form but its last character. Made when it is needed, because that takes time. */
const form = (): RegExp => new RegExp(`#${GAP}#${GAP}(?=\\[)|[\\r\\n]${BLANK}:${GAP}(?=:)`, 'gu');

/** A line in which a space stands before the last character of a form. */
export const withoutForms = (line: string): string => `\n${line}`.replace(form(), '$& ').slice(1);

/** JSON without the forms, and with the same value. */
function jsonWithoutForms(json: string): string {
  if (!json.includes('#')) return json;
  return json.replace(new RegExp(`#(?=${GAP}#${GAP}\\[)`, 'gu'), '\\u0023');
}

/** Breaks the forms in all that is written to a stream, and gives it `command` for what is meant as one. */
export function breakCommands(stream: TextStream): void {
  const write = stream.write.bind(stream) as (text: string, ...rest: unknown[]) => boolean;
  const forms = form();
  /** How a line ends that the next write may make a command of. */
  const open = new RegExp(`[\\r\\n]${BLANK}(?:(:)${GAP})?$|#${GAP}(#${GAP})?$`, 'u');
  let begun = '\n';
  stream.write = (chunk: unknown, ...rest: unknown[]) => {
    const text = begun + String(chunk);
    const broken = text.replace(forms, '$& ').slice(begun.length);
    const [end = '', colon, hash] = open.exec(text) ?? [];
    begun = end === '' ? '' : end.startsWith('#') ? (hash ? '##' : '#') : `\n${colon ?? ''}`;
    return write(broken, ...rest);
  };
  stream.command = (text: string, ...rest: unknown[]) => {
    begun = '\n';
    return write(text, ...rest);
  };
}
