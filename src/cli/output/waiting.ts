/** A spinner for one wait, such as a lookup's transfer. */
import { type Env, type OutputFlags, progressMode, type TextStream } from './terminal.js';

/** Shorter waits show nothing: a flash of text is worse than none. */
const PATIENCE_MS = 300;

/** Does the work. If it takes a while and the stream allows it, shows a spinner with the text. */
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
    // Loaded here: ora takes 50 ms to load, which a quick reply should not wait for.
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
