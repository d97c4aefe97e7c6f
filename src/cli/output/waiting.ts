/** Waits of a command: with a spinner, and ended by a signal. */
import { InterruptedError, ProfilesError } from '../../engine/errors.js';
import { type Env, type OutputFlags, progressMode, type TextStream } from './terminal.js';

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
