// Loaded into the built command with --import: no database of SQLite can be closed.
import { createRequire } from 'node:module';

// As the built command loads it: what `import` gives is another copy.
const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite');
// The native prototype is sealed; one that inherits from it is not.
DatabaseSync.prototype = Object.create(DatabaseSync.prototype, {
  close: {
    value() {
      throw new Error('disk I/O error');
    },
  },
});
