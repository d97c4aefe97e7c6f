/** Shows progress in the form that the stream allows: a live region, plain lines, or nothing. */
import { InterruptedError, ProfilesError } from '../../engine/errors.js';
import type { Drawing, ProgressMode, TextStream } from './terminal.js';
import { progressMode, safeLine, terminalWidth } from './terminal.js';

/** Minimum time between two plain progress lines. */
const PLAIN_EVERY_MS = 5_000;

/** @param rows lines that the region may take */
export type RegionSize = { columns: number; rows: number };

export interface DisplayView {
  /** The live region's lines for a size, each within its width and safe for a terminal; the first is beside the spinner. */
  live(size: RegionSize): string[];
  /** The same in one line, without the time of day; null if there is nothing to show yet. */
  plain(): string | null;
}

interface DisplayOptions {
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
    const start = await liveRegion();
    if (own === opened && opening) stopRegion = start(stream, (size) => view.live(size));
  };
  const stop = (): void => {
    opening = false;
    stopRegion?.();
    stopRegion = undefined;
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
    pause: stop,
    /** Ends the display, with the cursor shown. May be called again. */
    close: (): void => {
      closed = true;
      stop();
    },
  };
}

/** Wall clock as `12:03:05`, in the machine's time zone. */
const timeOfDay = (now: number): string => new Date(now).toTimeString().slice(0, 8);

/**
 * Columns for a line that stays on screen: one less than the terminal has, because some terminals wrap at the
 * last one.
 */
export const lineWidth = (stream: TextStream): number => (terminalWidth(stream) ?? 80) - 1;

/** No spinner for shorter waits: it would only flash. */
const PATIENCE_MS = 300;

/** Does the work, and stops it at a signal. @throws InterruptedError with the hint, if a signal ended it */
export const stopOnSignal = <T>(
  { stop }: { stop: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
  hint?: string,
): Promise<T> =>
  work(stop).catch((error: unknown) => {
    if (!stop.aborted || error instanceof ProfilesError) throw error;
    throw InterruptedError.of(stop, { hint });
  });

/** Does work that may take long: a spinner shows what for, and a signal ends it. @throws InterruptedError */
export async function waiting<T>(
  text: string,
  context: Drawing & { stderr: TextStream; stop: AbortSignal },
  work: (stop: AbortSignal) => Promise<T>,
  { patienceMs = PATIENCE_MS }: { patienceMs?: number } = {},
): Promise<T> {
  const { stderr } = context;
  const mode = progressMode(stderr, context) === 'live' ? 'live' : 'none';
  const clock = { now: () => 0, monotonic: () => 0 }; // for plain lines only
  const view = { live: () => [safeLine(text)], plain: () => null }; // the terminal cuts it
  const display = createDisplay(view, { stream: stderr, mode, clock });
  const timer = setTimeout(display.changed, patienceMs);
  return stopOnSignal(context, work).finally(() => {
    clearTimeout(timer);
    display.close();
  });
}

const CSI = '\u001b[';
const NO_WRAP = `${CSI}?7l`;
const WRAP = `${CSI}?7h`;
/**
 * Clears from the region's first cell on. The space keeps tmux from saving the region to its history as a
 * full screen.
 */
const WIPE = `\r ${CSI}J\r${CSI}K`;
/** The indentation of each line: the spinner and a space on the first line, two spaces on the others. */
const INDENT = '  ';

/**
 * What starts a live region: a spinner and a few lines at the end of the terminal, which ora draws again and again. Whole
 * lines that are written to the stream in the meantime appear above it and stay. Returns what clears it again.
 *
 * By default, ora leaves the cursor after its last line and moves up as many lines as it has written. If the
 * window becomes narrower, the terminal wraps those lines, so there are more of them. tmux reports a resize
 * 250 ms late, and each frame drawn until then would leave a line behind. Therefore the cursor stays at the
 * first cell of the region, which every terminal keeps in place during a resize. The terminal itself cuts the
 * lines (wrapping is off while they are drawn) until the new width is known.
 */
export async function liveRegion() {
  const { default: ora, spinners } = await import('ora'); // it takes 50 ms to load
  const { frames, interval } = spinners.dots;
  return (stream: TextStream, render: (size: RegionSize) => string[]): (() => void) => {
    const write = stream.write; // ora replaces it with its own
    const text = (): string => {
      // The last row stays free, or the terminal would scroll. So does the last column, because some terminals
      // wrap there.
      const columns = (stream.columns || 80) - 1 - INDENT.length;
      const size = { columns, rows: Math.max(1, (stream.rows ?? 24) - 1) };
      const lines = render(size).slice(0, size.rows);
      const up = lines.length > 1 ? `${CSI}${lines.length - 1}A` : '';
      return `${lines.join(`\n${INDENT}`)}${up}\r${WRAP}`;
    };
    const spinner = ora({
      stream,
      spinner: { interval, frames: frames.map((frame) => NO_WRAP + frame) },
      color: false,
      isEnabled: true, // `progressMode` has decided already
      discardStdin: false, // prompts read stdin
      hideCursor: false, // otherwise ora shows it again when the process exits, after the last output
    });
    // ora clears before it draws, before others write, and when it stops.
    spinner.clear = () => {
      write.call(stream, WIPE, 'utf8');
      spinner.text = text();
      return spinner;
    };
    // Each frame is one write, or terminals that draw between writes would flicker.
    const drawFrame = spinner.render.bind(spinner);
    spinner.render = () => {
      stream.cork();
      try {
        return drawFrame();
      } finally {
        stream.uncork();
      }
    };
    const redraw = (): unknown => spinner.render();
    stream.write(`${CSI}?25l`); // hides the cursor
    spinner.start();
    stream.on('resize', redraw);
    return () => {
      if (!spinner.isSpinning) return;
      stream.off('resize', redraw);
      spinner.stop();
      stream.write(`${CSI}?25h`);
    };
  };
}
