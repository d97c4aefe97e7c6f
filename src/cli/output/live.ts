/**
 * The live region: a few lines at the end of the terminal that are painted again and again.
 *
 * Not ora: ora leaves the cursor below its lines and counts them at the width they were drawn with, so after a
 * narrower window has broken them it wipes too few and leaves ruins. Here the cursor waits at the
 * region's first cell, which every terminal keeps in place through a resize, and lines are cut by the terminal itself
 * (no wrapping while painting) should it have become narrower than it has told us yet.
 */
import type { TextStream } from './terminal.js';

const CSI = '\u001b[';
const HIDE_CURSOR = `${CSI}?25l`;
const SHOW_CURSOR = `${CSI}?25h`;
const NO_WRAP = `${CSI}?7l`;
const WRAP = `${CSI}?7h`;
const CLEAR_LINE = `${CSI}K`;
const CLEAR_BELOW = `${CSI}J`;
/** From the region's first cell on. The blank keeps tmux from taking it for a whole screen to be kept in its history. */
const WIPE = `\r ${CLEAR_BELOW}\r${CLEAR_LINE}`;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;

export interface RegionSize {
  columns: number;
  /** Lines the region may take. */
  rows: number;
}

/** Calls back regularly until the function it gives is called. */
export type Schedule = (callback: () => void, ms: number) => () => void;

const everyInterval: Schedule = (callback, ms) => {
  const timer = setInterval(callback, ms).unref();
  return () => clearInterval(timer);
};

/**
 * Starts a live region on a terminal that `progressMode` calls `live`. `render` gives the lines for a size, each
 * within its width and safe, with the spinner's current frame at hand. Whatever is written to the stream while the
 * region stands appears above it and stays. Gives the function that wipes it and shows the cursor again.
 */
export function startLiveRegion(
  stream: TextStream,
  render: (size: RegionSize, frame: string) => string[],
  schedule: Schedule = everyInterval,
): () => void {
  let frame = 0;
  let running = true;
  const write = stream.write;
  const put = (text: string): boolean => write.call(stream, text, 'utf8');

  const painted = (): string => {
    // The last row stays free, or the terminal scrolls; the last column too, as some terminals break there.
    const size = { columns: (stream.columns || 80) - 1, rows: Math.max(1, (stream.rows ?? 24) - 1) };
    const lines = render(size, FRAMES[frame % FRAMES.length]!).slice(0, size.rows);
    const up = lines.length > 1 ? `${CSI}${lines.length - 1}A` : '';
    return `${NO_WRAP}\r${lines.map((line) => line + CLEAR_LINE).join('\r\n')}${CLEAR_BELOW}${up}\r${WRAP}`;
  };
  const paint = (): void => {
    if (!stream.writableNeedDrain) put(painted());
  };
  // Wiped first: a line that the terminal broke stays marked as broken if only its letters are replaced.
  const repaint = (): boolean => put(WIPE + painted());

  put(HIDE_CURSOR + painted());
  stream.on('resize', repaint);
  const cancel = schedule(() => {
    frame++;
    paint();
  }, FRAME_MS);
  // Lines that stay, warnings and other parts' texts go to the same stream: none may land in the middle of the region.
  stream.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('latin1');
    put(WIPE);
    const taken: boolean = Reflect.apply(write, stream, [chunk, ...rest]);
    put(`${text.endsWith('\n') ? '' : '\n'}${painted()}`);
    return taken;
  }) as TextStream['write'];

  return () => {
    if (!running) return;
    running = false;
    cancel();
    stream.off('resize', repaint);
    stream.write = write;
    put(WIPE + SHOW_CURSOR);
  };
}
