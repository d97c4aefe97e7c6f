// Loaded into the command with --import, to measure what recording costs. WITHOUT=waiting: commits do not wait
// for the disk. WITHOUT=writing: nothing is written to the database at all.
import { DatabaseSync } from '@photostructure/sqlite';

const { exec, prepare } = DatabaseSync.prototype;
const left = process.env.WITHOUT;
// What RETURNING would give: the numbers of what was not written.
const ROW = { request: 1, scope: 1, last: 1 };
const unwritten = { run: () => ({ changes: 0 }), get: () => ROW, all: () => [] };
let opened = false;

// The native prototype is sealed; one that inherits from it is not.
DatabaseSync.prototype = Object.create(DatabaseSync.prototype, {
  exec: {
    value(sql) {
      if (left === 'waiting') return exec.call(this, sql.replace('synchronous = FULL', 'synchronous = OFF'));
      // The schema and the key are needed; what comes after the first transactions is the recording.
      if (opened && /^(BEGIN IMMEDIATE|COMMIT)/.test(sql)) return;
      exec.call(this, sql);
    },
  },
  prepare: {
    value(sql) {
      opened ||= /scopes/.test(sql);
      if (left === 'writing' && opened && /^\s*(INSERT|UPDATE|DELETE)/.test(sql)) return unwritten;
      return prepare.call(this, sql);
    },
  },
});
