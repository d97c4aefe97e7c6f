/** Decides what can be drawn on a stream. No other module decides this. */
import type { Writable } from 'node:stream';
import { ConfigError, OutputError } from '../../engine/errors.js';
import { hintLines } from '../advice/hint.js';
import type { Tone } from '../facts/outcome.js';

/** A stream that may be a terminal. `columns` is absent or 0 if the width is unknown. */
export type TextStream = Writable & {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  rows?: number | undefined;
  /** 1 or 2 for the streams of a process. */
  fd?: number | undefined;
  /** In GitHub Actions: writes commands to the runner, which `write` keeps all other text from being. */
  command?: Writable['write'];
};
export type Env = Readonly<Record<string, string | undefined>>;
export interface OutputFlags {
  quiet?: boolean | undefined;
  /** The value of `--no-color` in commander: false if it was given. */
  color?: boolean | undefined;
  debug?: boolean | undefined;
}
/** What decides how something is drawn, besides the stream. */
export type Drawing = { env: Env; flags: OutputFlags };

/**
 * `live`: one region that is drawn again and again. `plain`: a line per change. `none`: no progress at all.
 */
export type ProgressMode = 'live' | 'plain' | 'none';

/** Width of a terminal in cells; null for a pipe, a file, or a terminal without a known width. */
export function terminalWidth(stream: TextStream): number | null {
  return stream.isTTY && stream.columns ? stream.columns : null;
}

/**
 * How progress is shown on a stream (contract §6). Live progress needs a terminal with a known width, which
 * is not `TERM=dumb` and not in a CI system. `--debug` writes lines to the same stream, so with it progress
 * is plain. `PROFILES_PROGRESS` can ask for less, and `--quiet` turns progress off.
 * @throws ConfigError if `PROFILES_PROGRESS` has an unknown value
 */
export function progressMode(stream: TextStream, { env, flags }: Drawing): ProgressMode {
  const wish = env.PROFILES_PROGRESS || 'auto';
  if (!['auto', 'plain', 'none'].includes(wish)) {
    const hint = 'use auto, plain, or none';
    throw new ConfigError(`PROFILES_PROGRESS: "${wish}" is not one of its values`, { hint });
  }
  if (flags.quiet || wish === 'none') return 'none';
  const canDraw = terminalWidth(stream) !== null && env.TERM !== 'dumb' && !inCi(env) && !flags.debug;
  return wish === 'auto' && canDraw ? 'live' : 'plain';
}

/** Whether `CI` is set. `false` and `0` count as not set. */
export const inCi = (env: Env): boolean => !['', '0', 'false'].includes((env.CI ?? '').toLowerCase());

/**
 * Whether text for this stream is colored (contract §6). In this order: `--no-color`; `NO_COLOR`;
 * `FORCE_COLOR` (`0` and `false` turn color off); whether it is a terminal that supports control sequences.
 * `PROFILES_PROGRESS=plain` asks for no control sequences, which includes color.
 */
export function usesColor(stream: TextStream, { env, flags }: Drawing): boolean {
  if (flags.color === false || env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return stream.isTTY === true && env.TERM !== 'dumb' && env.PROFILES_PROGRESS !== 'plain';
}

export type Style = (text: string) => string;
/** The codes that begin and end each style. */
const CODES = {
  ...{ bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] },
} as const;
export type StyleName = keyof typeof CODES;
export type Styles = Readonly<Record<StyleName, Style>>;

/** The styles for a stream; without color, they return their text unchanged. `styleText` of Node decides by the process. */
export const stylesFor = (color: boolean): Styles =>
  Object.fromEntries(
    Object.entries(CODES).map(([name, [open, close]]): [string, Style] => [
      name,
      (text) => (color ? `\u001b[${open}m${text}\u001b[${close}m` : text),
    ]),
  ) as Styles;

/** The styles for what is written to a stream. */
export const stylesOn = (stream: TextStream, drawing: Drawing): Styles =>
  stylesFor(usesColor(stream, drawing));

/** How tables are printed (`TableForm`). */
export const tableForm = (context: Drawing & { stdout: TextStream }) => ({
  width: terminalWidth(context.stdout),
  color: usesColor(context.stdout, context),
});

/** The sign and the color of each tone. Statuses of jobs that the specification does not name are yellow, too. */
const TONES = {
  good: ['✓', 'green'],
  warn: ['!', 'yellow'],
  bad: ['✗', 'red'],
  none: ['', 'yellow'],
} as const;

export const markOf = (tone: Tone): string => TONES[tone][0];
export const colorOf = (tone: Tone): StyleName => TONES[tone][1];
export const styleOf = (tone: Tone, styles: Styles): Style => styles[colorOf(tone)];

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
    return code < 0xa0 ? `\\x${hex(code, 2)}` : `\\u${hex(code)}`;
  });
}

/**
 * Spaces that look like the usual one, or are invisible. In a table they do no harm, but in a message they
 * often matter.
 */
const OTHER_SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;

/** Like `safeLine`, for a sentence about a value: unusual spaces become visible, too. */
export const safeMessage = (text: string): string =>
  safeLine(text).replace(OTHER_SPACES, (c) => `\\u${hex(c.charCodeAt(0))}`);

const hex = (code: number, digits = 4): string => code.toString(16).padStart(digits, '0');

/**
 * JSON text for a terminal or a log. Characters that JSON allows unescaped in strings, but that a terminal would
 * interpret or not show (DEL, C1, direction marks), or a runner take as a command, become `\uXXXX`, which JSON
 * readers decode to the same text.
 */
export function safeJson(json: string): string {
  const visible = json.replace(UNSAFE, (c) => ('\n\r\t'.includes(c) ? c : `\\u${hex(c.charCodeAt(0))}`));
  if (!visible.includes('#')) return visible;
  return visible.replace(new RegExp(`#(?=${GAP}#${GAP}\\[)`, 'gu'), '\\u0023');
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
let form: RegExp | undefined;

/** Lines in which a space stands before the last character of each form. */
export function withoutForms(lines: string): string {
  form ??= new RegExp(`#${GAP}#${GAP}(?=\\[)|[\\r\\n]${BLANK}:${GAP}(?=:)`, 'gu');
  return `\n${lines}`.replace(form, '$& ').slice(1);
}

/** Breaks the forms in all that is written to a stream, in whole lines, and gives it `command` for what is meant as one. */
export function breakCommands(stream: TextStream): void {
  const write = stream.write.bind(stream) as (text: string, ...rest: unknown[]) => boolean;
  stream.write = (chunk: unknown, ...rest: unknown[]) => write(withoutForms(String(chunk)), ...rest);
  stream.command = write;
}

type Write = (this: TextStream, text: string, done: (error?: Error | null) => void) => boolean;

/**
 * Writes text, and resolves when the stream has accepted all of it. So a slow pipe slows the writer down, and
 * output is not cut at the 64 KiB of a pipe. If the reader is gone (`| head -1`, a closed terminal), it
 * resolves, too.
 * @throws OutputError for any other failure, such as a full disk
 */
export function writeOut(stream: TextStream, text: string, by: 'write' | 'command' = 'write'): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stream.destroyed || text === '') {
      resolve();
      return;
    }
    const write: Write = stream[by] ?? stream.write;
    write.call(stream, text, (error?: NodeJS.ErrnoException | null) => {
      if (error && !isReaderGone(error))
        reject(new OutputError(stream.fd === 2 ? 'stderr' : 'stdout', error));
      else resolve();
    });
  });
}

/** JSON text as a stream takes it: unchanged, but for a terminal and for the log of a runner. */
export const jsonFor = ({ isTTY, command }: TextStream, json: string): string =>
  isTTY || command ? safeJson(json) : json;

/** Writes JSON text and a line break. */
export function writeJson(stdout: TextStream, json: string): Promise<void> {
  return writeOut(stdout, `${jsonFor(stdout, json)}\n`);
}

const READER_GONE = new Set(['EPIPE', 'EIO', 'ENXIO', 'ERR_STREAM_DESTROYED', 'ECONNRESET']);

/** Whether a write failed because the reader of the pipe or terminal is gone. */
export const isReaderGone = ({ code = '' }: NodeJS.ErrnoException): boolean => READER_GONE.has(code);
