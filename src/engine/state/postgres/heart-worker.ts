/** The code of the thread that sends heartbeats (`heart.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { Heart, type HeartData, type KeptLease } from './heart.js';

const data = workerData as HeartData;
// It can be behind the clock of the main thread, but never ahead.
const heart = new Heart(data, data.now - performance.now());
parentPort!.on('message', (leases: KeptLease[]) => heart.keep(leases));
