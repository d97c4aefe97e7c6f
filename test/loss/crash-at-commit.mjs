// Loaded into the built command with --import: kills it right before or right after its nth commit (CRASH_AT=before:3).
import { DatabaseSync } from '@photostructure/sqlite';

const [moment, nth] = process.env.CRASH_AT.split(':');
let commits = 0;

const { exec } = DatabaseSync.prototype;
// The native prototype is sealed; one that inherits from it is not.
DatabaseSync.prototype = Object.create(DatabaseSync.prototype, {
  exec: {
    value(sql) {
      const now = sql === 'COMMIT' && ++commits === Number(nth);
      if (now && moment === 'before') die();
      exec.call(this, sql);
      if (now && moment === 'after') die();
    },
  },
});

function die() {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // not one instruction more
}
