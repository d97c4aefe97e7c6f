/**
 * Keeps text from being a command to the runner of GitHub Actions. The runner takes `##[name …]` anywhere in a line as
 * one, and `::name …::` after white space at its start. It compares as a language does, so marks and control
 * characters between these characters make no difference.
 */
import type { Env, TextStream } from './terminal.js';

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
export function jsonWithoutForms(json: string): string {
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
