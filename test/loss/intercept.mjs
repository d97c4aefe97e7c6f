// For what is loaded into the built command with --import: what it does with its database and with its sockets goes through here.
import { createRequire } from 'node:module';
import { Socket } from 'node:net';

/** @param around called with each statement for SQLite, and with what executes it */
export function interceptStatements(around) {
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
export function interceptWrites(before) {
  const { write } = Socket.prototype;
  Socket.prototype.write = function (data, ...more) {
    before(data, this);
    return write.call(this, data, ...more);
  };
}
