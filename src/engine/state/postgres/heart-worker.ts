/** The code of the thread that sends heartbeats (`heart.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { clockOf, Heart, type KeptLease, type LeaseKey } from './heart.js';
import type { PostgresLocation } from './location.js';

export interface HeartData {
  location: PostgresLocation;
  life: BigInt64Array;
  /**
   * Monotonic clock of the main thread when it started this thread, in milliseconds. The clock that is
   * computed from it can be behind that of the main thread, but never ahead.
   */
  now: number;
}
export type HeartOrder = { do: 'keep'; lease: KeptLease } | { do: 'drop'; lease: LeaseKey };

const { location, life, now } = workerData as HeartData;
const heart = new Heart(location, life, clockOf(now - performance.now()));
parentPort!.on('message', (order: HeartOrder) => {
  if (order.do === 'keep') heart.keep(order.lease);
  else heart.drop(order.lease);
});
