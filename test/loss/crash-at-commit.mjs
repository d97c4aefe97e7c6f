// Loaded into the built command with --import: kills it right before or right after its nth commit (CRASH_AT=before:3), of
// SQLite or of PostgreSQL. There, `after` is when the answer arrives. CRASH_AT=before:3:writer counts those of the thread
// that records many requests.
import { isMainThread } from 'node:worker_threads';
import { interceptStatements, interceptWrites } from './intercept.mjs';

const [moment, nth, thread = 'main'] = process.env.CRASH_AT.split(':');
let commits = 0;
const isNext = () => isMainThread === (thread === 'main') && ++commits === Number(nth);

interceptStatements((sql, execute) => {
  const now = sql === 'COMMIT' && isNext();
  if (now && moment === 'before') die();
  execute();
  if (now && moment === 'after') die();
});

interceptWrites((data, socket) => {
  if (!Buffer.isBuffer(data) || !data.includes('; COMMIT\0') || !isNext()) return;
  if (moment === 'before') die();
  socket.push = die;
});

function die() {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // not one instruction more
}
