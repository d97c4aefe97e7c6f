/** Decides what can be drawn on a stream. No other module decides this. */
import type { Writable } from 'node:stream';
import { ConfigError } from '../../engine/errors.js';
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
export function progressMode(stream: TextStream, env: Env, flags: OutputFlags): ProgressMode {
  const wish = env.PROFILES_PROGRESS || 'auto';
  if (wish !== 'auto' && wish !== 'plain' && wish !== 'none') {
    throw new ConfigError(`PROFILES_PROGRESS: "${wish}" is not one of its values`, {
      hint: 'use auto, plain, or none',
    });
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
export function usesColor(stream: TextStream, env: Env, flags: OutputFlags): boolean {
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

// `styleText` of node:util decides by the environment and stdout of the process. Here, it is decided for each stream.
const styled = (color: boolean): Styles =>
  Object.fromEntries(
    Object.entries(CODES).map(([name, [open, close]]): [string, Style] => [
      name,
      (text) => (color ? `\u001b[${open}m${text}\u001b[${close}m` : text),
    ]),
  ) as Styles;
const [COLORED, PLAIN] = [styled(true), styled(false)];

/** The styles for a stream; without color, they return their text unchanged. */
export function stylesFor(color: boolean): Styles {
  return color ? COLORED : PLAIN;
}

/** The styles for what is written to a stream. */
export const stylesOn = (stream: TextStream, env: Env, flags: OutputFlags): Styles =>
  stylesFor(usesColor(stream, env, flags));

/** How tables are printed to a stream (`TableForm`). */
export const formOn = (stream: TextStream, env: Env, flags: OutputFlags) => ({
  width: terminalWidth(stream),
  color: usesColor(stream, env, flags),
});

/** The sign and the color of each tone. Statuses of jobs that the specification does not name are yellow, too. */
const TONES = {
  good: ['✓', 'green'],
  warn: ['!', 'yellow'],
  bad: ['✗', 'red'],
  none: ['', 'yellow'],
} as const;

export const markOf = (tone: Tone): string => TONES[tone][0];
export const styleOf = (tone: Tone, styles: Styles): Style => styles[TONES[tone][1]];
