// Loaded into the built command with --import: kills it right before or right after its nth commit (CRASH_AT=before:3), of
// SQLite or of PostgreSQL. There, `after` is when the answer arrives.
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';

// As the built command loads it: what `import` gives is another copy.
const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite');

const [moment, nth] = process.env.CRASH_AT.split(':');
let commits = 0;
const isNext = () => isMainThread && ++commits === Number(nth);

const { exec } = DatabaseSync.prototype;
// The native prototype is sealed; one that inherits from it is not.
DatabaseSync.prototype = Object.create(DatabaseSync.prototype, {
  exec: {
    value(sql) {
      const now = sql === 'COMMIT' && isNext();
      if (now && moment === 'before') die();
      exec.call(this, sql);
      if (now && moment === 'after') die();
    },
  },
});

const { write } = Socket.prototype;
Socket.prototype.write = function (data, ...more) {
  if (Buffer.isBuffer(data) && data.includes('; COMMIT\0') && isNext()) {
    if (moment === 'before') die();
    this.push = die;
  }
  return write.call(this, data, ...more);
};

function die() {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // not one instruction more
}
