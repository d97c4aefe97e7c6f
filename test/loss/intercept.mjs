// Loaded into the built command with --import: what it does with its database and its sockets goes through here. It is
// killed or stopped where the environment says so.
import { createHook } from 'node:async_hooks';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';

/** @param around called with each statement for SQLite, and with what executes it */
function interceptStatements(around) {
  // As the built command loads it: what `import` gives is another copy.
  const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite');
  const { exec } = DatabaseSync.prototype;
  // The native prototype is sealed; one that inherits from it is not.
  DatabaseSync.prototype = Object.create(DatabaseSync.prototype, {
    exec: {
      value(sql) {
        around(sql, () => exec.call(this, sql));
      },
    },
  });
}

/** @param before called with what is about to be written to a socket, and with that socket */
function interceptWrites(before) {
  const { write } = Socket.prototype;
  Socket.prototype.write = function (data, ...more) {
    before(data, this);
    return write.call(this, data, ...more);
  };
}

// CRASH_AT=before:3 kills it right before its third commit, of SQLite or of PostgreSQL, and `after` right after: there, when
// the answer arrives.
if (process.env.CRASH_AT) {
  const [moment, nth] = process.env.CRASH_AT.split(':');
  let commits = 0;
  const isNext = () => isMainThread && ++commits === Number(nth);

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
}

function die() {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // not one instruction more
}

// STOP_AT=n:m: from when it records its next request after the nth on, in PostgreSQL, or what it does after the nth, in
// SQLite, it stops (SIGSTOP) right before the main thread continues for the mth time, after an `await` or in a callback.
// When that request is written, it writes to the file STOP_COUNT how often the main thread had continued.
if (process.env.STOP_AT && isMainThread) {
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
