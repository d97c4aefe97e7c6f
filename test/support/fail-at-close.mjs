// Loaded into the built command with --import: closing an SQLite database fails.
import { createRequire } from 'node:module';

// Loaded with `require`, as in the built command: `import` would return another copy.
const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite');
// The native prototype is sealed; an object that inherits from it is not.
DatabaseSync.prototype = Object.create(DatabaseSync.prototype, {
  close: {
    value() {
      throw new Error('disk I/O error');
    },
  },
});
