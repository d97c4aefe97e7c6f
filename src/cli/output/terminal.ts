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
};
export type Env = Readonly<Record<string, string | undefined>>;
export interface OutputFlags {
  quiet?: boolean | undefined;
  /** commander's form of `--no-color`: false when given. */
  color?: boolean | undefined;
  debug?: boolean | undefined;
}

/** `live`: one region that is painted again and again. `plain`: a line per change. `none`: no progress at all. */
export type ProgressMode = 'live' | 'plain' | 'none';

/** Width of a terminal in cells; null for a pipe, a file, or a terminal without a known width. */
export function terminalWidth(stream: TextStream): number | null {
  return stream.isTTY && stream.columns ? stream.columns : null;
}

/**
 * How progress is shown on a stream (contract §6): live only on a terminal that has a width, is not
 * `TERM=dumb` and is not a CI system's; `PROFILES_PROGRESS` overrides towards less, `--quiet` towards none.
 * `--debug` writes its own lines to the same stream, so it gets lines too.
 * @throws ConfigError when `PROFILES_PROGRESS` is none of its three words
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

/** `CI=false` and `CI=0` mean what they say. */
export const inCi = (env: Env): boolean => !['', '0', 'false'].includes((env.CI ?? '').toLowerCase());
