/** Decides what can be drawn on a stream. No other module decides this. */
import type { Writable } from 'node:stream';
import { ConfigError } from '../../engine/errors.js';

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
