/** Colors: whether a stream gets any, and the available styles. */
import type { Tone } from '../facts/outcome.js';
import { type Env, type OutputFlags, type TextStream, terminalWidth } from './terminal.js';

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
export interface Styles {
  bold: Style;
  dim: Style;
  red: Style;
  green: Style;
  yellow: Style;
  cyan: Style;
}

const sgr =
  (open: number, close: number): Style =>
  (text) =>
    `\u001b[${open}m${text}\u001b[${close}m`;
const plain: Style = (text) => text;

// `styleText` of node:util decides by the environment and stdout of the process. Here, it is decided for each
// stream.
const COLORED: Styles = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  red: sgr(31, 39),
  green: sgr(32, 39),
  yellow: sgr(33, 39),
  cyan: sgr(36, 39),
};
const PLAIN: Styles = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, cyan: plain };

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
