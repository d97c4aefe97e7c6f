/** The code of the thread that sends heartbeats (`heart.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { clockOf, Heart, type HeartData, type HeartOrder } from './heart.js';

const { location, life, now } = workerData as HeartData;
const heart = new Heart(location, life, clockOf(now - performance.now()));
parentPort!.on('message', (order: HeartOrder) => {
  if (order.do === 'keep') heart.keep(order.lease);
  else heart.drop(order.lease);
});
