// Loaded into the built command with --import. From when it records its next request after the nth on, in PostgreSQL, or
// what it does after the nth, in SQLite, it stops (SIGSTOP) right before the main thread continues for the mth time, after
// an `await` or in a callback: STOP_AT=n:m. When that request is written, it writes to the file STOP_COUNT how often the
// main thread had continued.
import { createHook } from 'node:async_hooks';
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { interceptStatements, interceptWrites } from './intercept.mjs';

if (isMainThread) {
  const [nth, stop] = process.env.STOP_AT.split(':').map(Number);
  let requests = 0;
  let turns = -1;

  const begins = (isRecord) => {
    if (isRecord && requests === nth && turns < 0) turns = 0;
  };

  interceptStatements((sql, execute) => {
    begins(sql === 'COMMIT');
    execute();
  });

  interceptWrites((data) => {
    if (String(data).startsWith('POST ') && ++requests === nth + 1) {
      writeFileSync(process.env.STOP_COUNT, String(turns));
    }
    begins(String(data).includes('INSERT INTO requests'));
  });

  createHook({
    before() {
      if (requests === nth && turns >= 0 && ++turns === stop) process.kill(process.pid, 'SIGSTOP');
    },
  }).enable();
}
