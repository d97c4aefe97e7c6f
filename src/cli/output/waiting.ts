/** A spinner for one wait, such as a lookup's transfer. */
import { type Env, type OutputFlags, progressMode, type TextStream } from './terminal.js';

/** Shorter waits show nothing: a flash of text is worse than none. */
const PATIENCE_MS = 300;

/** Does the work; where the stream can show it, a wait that lasts gets a spinner with the text. Other forms say nothing. */
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
    // ora takes 50 ms to load, which a quick reply need not wait for.
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
