// Loaded into the built command with --import. From when it records its next request after the nth on, it stops (SIGSTOP)
// right before the main thread continues for the mth time, after an `await` or in a callback: STOP_AT=n:m. When that
// request is written, it writes to the file STOP_COUNT how often the main thread had continued.
import { createHook } from 'node:async_hooks';
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const [nth, stop] = process.env.STOP_AT.split(':').map(Number);
  let requests = 0;
  let turns = -1;

  const { write } = Socket.prototype;
  Socket.prototype.write = function (data, ...more) {
    if (String(data).startsWith('POST ') && ++requests === nth + 1) {
      writeFileSync(process.env.STOP_COUNT, String(turns));
    }
    if (requests === nth && turns < 0 && String(data).includes('INSERT INTO requests')) turns = 0;
    return write.call(this, data, ...more);
  };
  createHook({
    before() {
      if (requests === nth && turns >= 0 && ++turns === stop) process.kill(process.pid, 'SIGSTOP');
    },
  }).enable();
}
