/** Shows progress in the form that the stream allows: a live region, plain lines, or nothing. */

import { InterruptedError, ProfilesError } from '../../engine/errors.js';
import type { RegionSize } from './live.js';
import {
  type Env,
  type OutputFlags,
  type ProgressMode,
  progressMode,
  type TextStream,
  terminalWidth,
} from './terminal.js';

/** Minimum time between two plain progress lines. */
const PLAIN_EVERY_MS = 5_000;

export interface DisplayView {
  /** The live region's lines for a size, each within its width. */
  live(size: RegionSize): string[];
  /** The same in one line, without the time of day; null if there is nothing to show yet. */
  plain(): string | null;
}

export interface DisplayOptions {
  stream: TextStream;
  mode: ProgressMode;
  clock: { now(): number; monotonic(): number };
}

/** Creates a display that opens at its first change: a command that fails at once loads and draws nothing. */
export function createDisplay(view: DisplayView, { stream, mode, clock }: DisplayOptions) {
  /** Number of regions opened so far, to recognize one that was paused or closed while it was loading. */
  let opened = 0;
  let opening = false;
  let stopRegion: (() => void) | undefined;
  let closed = false;
  let lastText: string | null = null;
  let lastAt = Number.NEGATIVE_INFINITY;

  const printPlain = (): void => {
    const text = view.plain();
    const at = clock.monotonic();
    if (text === null || text === lastText || at - lastAt < PLAIN_EVERY_MS) return;
    [lastText, lastAt] = [text, at];
    stream.write(`${timeOfDay(clock.now())} ${text}\n`);
  };
  const openRegion = async (): Promise<void> => {
    opening = true;
    const own = ++opened;
    const { startLiveRegion } = await import('./live.js'); // ora takes 50 ms to load
    if (!closed && own === opened && opening) stopRegion = startLiveRegion(stream, (size) => view.live(size));
  };
  return {
    /** Call this when the view has changed. In `live` mode, the first call loads ora, and resolves when it has drawn once. */
    changed: (): void | Promise<void> => {
      if (closed || mode === 'none') return undefined;
      if (mode === 'plain') return printPlain();
      return opening ? undefined : openRegion();
    },
    /** A line that stays above the live region. Plain mode leaves it out, because its own lines say the same. */
    finished: (line: string): void => {
      if (mode === 'live' && !closed) stream.write(`${line}\n`);
    },
    /** A line that is shown in every mode. */
    notice: (line: string): void => {
      stream.write(mode === 'plain' ? `${timeOfDay(clock.now())} ${line}\n` : `${line}\n`);
    },
    /** Clears the live region until the next change, to make room for a question. */
    pause: (): void => {
      opening = false;
      stopRegion?.();
      stopRegion = undefined;
    },
    /** Ends the display, with the cursor shown. May be called again. */
    close: (): void => {
      closed = true;
      stopRegion?.();
      stopRegion = undefined;
    },
  };
}

/** Wall clock as `12:03:05`, in the machine's time zone. */
function timeOfDay(now: number): string {
  const date = new Date(now);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/**
 * Columns for a line that stays on screen: one less than the terminal has, because some terminals wrap at the
 * last one.
 */
export const lineWidth = (stream: TextStream): number => (terminalWidth(stream) ?? 80) - 1;

/** No spinner for shorter waits: it would only flash. */
const PATIENCE_MS = 300;

/** Does the work, and shows a spinner with the text if that takes a while and the stream allows it. */
export async function whileWaiting<T>(
  text: string,
  { stderr, env, flags }: { stderr: TextStream; env: Env; flags: OutputFlags },
  work: () => Promise<T>,
  { patienceMs = PATIENCE_MS }: { patienceMs?: number } = {},
): Promise<T> {
  if (progressMode(stderr, env, flags) !== 'live') return work();
  let stop: (() => void) | undefined;
  let over = false;
  const show = async (): Promise<void> => {
    // Loaded here, because ora takes 50 ms to load, and a quick reply should not wait for it.
    const [{ startLiveRegion }, { cutTo }] = await Promise.all([import('./live.js'), import('./width.js')]);
    if (!over) stop = startLiveRegion(stderr, ({ columns }) => [cutTo(text, columns)]);
  };
  const timer = setTimeout(show, patienceMs);
  try {
    return await work();
  } finally {
    over = true;
    clearTimeout(timer);
    stop?.();
  }
}

/** Does the work, and stops it at a signal. @throws InterruptedError with the hint, if a signal ended it */
export async function stopOnSignal<T>(
  { stop }: { stop: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
  hint?: string,
): Promise<T> {
  try {
    return await work(stop);
  } catch (error) {
    if (!stop.aborted || error instanceof ProfilesError) throw error;
    throw InterruptedError.of(stop, { hint });
  }
}
