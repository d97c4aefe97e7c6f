/**
 * What time the service says it is. The client does not expose the `Date` header, so this reads it from undici's
 * diagnostics channel.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Clock } from '../../../engine/clock.js';

const CHANNEL = 'undici:request:headers';

export interface ServerDates {
  /** Milliseconds by which this machine is ahead, by the newest reply; null before one with a date. */
  skew(): number | null;
  close(): void;
}

/** Listens from now on. A `Date` counts whole seconds: less than one is no skew. */
export function serverDates(clock: Pick<Clock, 'now'>): ServerDates {
  let skew: number | null = null;
  const onHeaders = (message: unknown): void => {
    const { headers } = (message as { response: { headers: readonly Buffer[] } }).response;
    const words = headers.map((part) => part.toString('latin1'));
    const at = words.findIndex((word, i) => i % 2 === 0 && word.toLowerCase() === 'date');
    const date = at < 0 ? Number.NaN : Date.parse(words[at + 1]!);
    if (!Number.isNaN(date)) skew = clock.now() - date;
  };
  subscribe(CHANNEL, onHeaders);
  return { skew: () => skew, close: () => void unsubscribe(CHANNEL, onHeaders) };
}
