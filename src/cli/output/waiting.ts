/** A spinner for one wait, such as a lookup's transfer. */
import type { Schedule } from './live.js';
import { type Env, type OutputFlags, progressMode, type TextStream } from './terminal.js';

/** Shorter waits show nothing: a flash of text is worse than none. */
const PATIENCE_MS = 300;

/** Does the work; where the stream can show it, a wait that lasts gets a spinner with the text. Other forms say nothing. */
export async function whileWaiting<T>(
  text: string,
  { stderr, env, flags }: { stderr: TextStream; env: Env; flags: OutputFlags },
  work: () => Promise<T>,
  { patienceMs = PATIENCE_MS, schedule }: { patienceMs?: number; schedule?: Schedule } = {},
): Promise<T> {
  if (progressMode(stderr, env, flags) !== 'live') return work();
  let stop: (() => void) | undefined;
  let over = false;
  const show = async (): Promise<void> => {
    // What draws takes 35 ms to load, which a quick reply need not wait for.
    const [{ startLiveRegion }, { layout }] = await Promise.all([import('./live.js'), import('./layout.js')]);
    const lines = (columns: number, frame: string): string[] => [
      layout([{ text, rank: 0 }], columns, `${frame} `),
    ];
    if (!over) stop = startLiveRegion(stderr, ({ columns }, frame) => lines(columns, frame), schedule);
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
