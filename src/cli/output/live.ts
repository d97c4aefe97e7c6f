/**
 * The live region: a spinner and a few lines at the end of the terminal, which ora draws again and again.
 *
 * ora by itself leaves the cursor behind its last line and goes up as many lines as it has written. A window that
 * has become narrower has broken them into more, and with tmux, which reports a resize 250 ms late, each frame until
 * then leaves a line behind. So the cursor waits at the region's first cell, which every terminal keeps in place
 * through a resize, and the terminal itself cuts the lines (no wrapping while they are drawn) until the new width is
 * known.
 */
import ora, { spinners } from 'ora';
import type { TextStream } from './terminal.js';

const CSI = '\u001b[';
const HIDE_CURSOR = `${CSI}?25l`;
const SHOW_CURSOR = `${CSI}?25h`;
const NO_WRAP = `${CSI}?7l`;
const WRAP = `${CSI}?7h`;
const CLEAR_LINE = `${CSI}K`;
const CLEAR_BELOW = `${CSI}J`;
/** Clears from the region's first cell on. The blank keeps tmux from storing it as a whole screen in its history. */
const WIPE = `\r ${CLEAR_BELOW}\r${CLEAR_LINE}`;

const { frames, interval } = spinners.dots;
const SPINNER = { interval, frames: frames.map((frame) => NO_WRAP + frame) };
/** The space before each line: the spinner and a blank, or as much room below it. */
const INDENT = '  ';

export interface RegionSize {
  columns: number;
  /** Lines the region may take. */
  rows: number;
}

/**
 * Starts a live region on a terminal that `progressMode` calls `live`. `render` gives the lines for a size, each
 * within its width and safe; the first is beside the spinner. Whole lines that are written to the stream in the
 * meantime appear above the region and stay. Returns the function that wipes it and shows the cursor again.
 */
export function startLiveRegion(stream: TextStream, render: (size: RegionSize) => string[]): () => void {
  const write = stream.write; // ora puts its own write in its place
  const text = (): string => {
    // The last row stays free, or the terminal scrolls; the last column too, as some terminals break there.
    const columns = (stream.columns || 80) - 1 - INDENT.length;
    const size = { columns, rows: Math.max(1, (stream.rows ?? 24) - 1) };
    const lines = render(size).slice(0, size.rows);
    const up = lines.length > 1 ? `${CSI}${lines.length - 1}A` : '';
    return `${lines.join(`\n${INDENT}`)}${up}\r${WRAP}`;
  };

  const spinner = ora({
    stream,
    spinner: SPINNER,
    color: false,
    isEnabled: true, // `progressMode` has decided
    discardStdin: false, // it belongs to the prompts
    hideCursor: false, // otherwise ora shows it again as the process ends, after whatever was printed last
  });
  // ora clears before it draws, before others write, and at the end.
  spinner.clear = () => {
    write.call(stream, WIPE, 'utf8');
    spinner.text = text();
    return spinner;
  };
  // Each frame is one write: otherwise, terminals that draw in between would flicker.
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
  stream.write(HIDE_CURSOR);
  spinner.start();
  stream.on('resize', redraw);

  return () => {
    if (!spinner.isSpinning) return;
    stream.off('resize', redraw);
    spinner.stop();
    stream.write(SHOW_CURSOR);
  };
}
