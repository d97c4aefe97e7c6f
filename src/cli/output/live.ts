/**
 * The live region: a spinner and a few lines at the end of the terminal, which ora draws again and again.
 *
 * By default, ora leaves the cursor after its last line and moves up as many lines as it has written. If the
 * window becomes narrower, the terminal wraps those lines, so there are more of them. tmux reports a resize
 * 250 ms late, and each frame drawn until then would leave a line behind. Therefore the cursor stays at the
 * first cell of the region, which every terminal keeps in place during a resize. The terminal itself cuts the
 * lines (wrapping is off while they are drawn) until the new width is known.
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
/**
 * Clears from the region's first cell on. The space keeps tmux from saving the region to its history as a
 * full screen.
 */
const WIPE = `\r ${CLEAR_BELOW}\r${CLEAR_LINE}`;

const { frames, interval } = spinners.dots;
const SPINNER = { interval, frames: frames.map((frame) => NO_WRAP + frame) };
/** The indentation of each line: the spinner and a space on the first line, two spaces on the others. */
const INDENT = '  ';

export interface RegionSize {
  columns: number;
  /** Lines the region may take. */
  rows: number;
}

/**
 * Starts a live region on a terminal for which `progressMode` returned `live`.
 * @param render returns the lines for a size, each within the width and safe for a terminal; the first line
 * is beside the spinner. Whole lines written to the stream in the meantime appear above the region and stay
 * @returns a function that clears the region and shows the cursor again
 */
export function startLiveRegion(stream: TextStream, render: (size: RegionSize) => string[]): () => void {
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
    spinner: SPINNER,
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
