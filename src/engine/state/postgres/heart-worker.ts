/** The thread of the heart (`heart.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { clockOf, Heart, type KeptLease, type LeaseKey } from './heart.js';
import type { PostgresLocation } from './location.js';

export interface HeartData {
  location: PostgresLocation;
  life: BigInt64Array;
  /** Of the main thread, when it started this one. Counted from here, that is behind its clock rather than ahead. */
  now: number;
}
export type HeartOrder = { do: 'keep'; lease: KeptLease } | { do: 'drop'; lease: LeaseKey };

const { location, life, now } = workerData as HeartData;
const heart = new Heart(location, life, clockOf(now - performance.now()));
parentPort!.on('message', (order: HeartOrder) => {
  if (order.do === 'keep') heart.keep(order.lease);
  else heart.drop(order.lease);
});
