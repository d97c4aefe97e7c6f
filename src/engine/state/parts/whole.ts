/** The methods of the state for the database as a whole: locks, overview, checks, and backup. */
import { closeAll } from '../../close-all.js';
import { firstOf, problemsOf } from '../check.js';
import type { State } from '../interface.js';
import { refuseMoved } from '../meta.js';
import { overviewOf } from '../overview.js';
import type { Tables } from '../tables.js';

type OfWhole =
  | 'refuseMoved'
  | 'takeLock'
  | 'isLocked'
  | 'lockHolder'
  | 'check'
  | 'locks'
  | 'unlock'
  | 'size'
  | 'overview'
  | 'age'
  | 'problems'
  | 'backup'
  | 'close';

export function ofWhole(tables: Tables): Pick<State, OfWhole> {
  const { db, backend, commits, scopes, sends, fingerprints } = tables;
  return {
    refuseMoved: () => tables.read(() => refuseMoved(db)),
    takeLock: (scope, kind, holder = '') => backend.takeLock(scope, kind, holder),
    isLocked: async (scope, kinds) => {
      for (const kind of kinds) if (await backend.isLocked(scope, kind)) return true;
      return false;
    },
    lockHolder: (scope, kind) => backend.lockHolder(scope, kind),
    check: () => backend.check(),
    locks: async () => backend.locks(await scopes.all(db)),
    unlock: (force) => backend.unlock(force),
    size: () => backend.bytes(),
    overview: () => tables.read(() => overviewOf(db, fingerprints)),
    age: () => tables.read(() => sends.age(db)),
    problems: () =>
      tables.read(async () => {
        const { integrity, references } = await backend.damages();
        // If the database itself is damaged, comparing its records makes no sense.
        if (integrity.length > 0) return integrity.map((message) => ({ check: 'integrity', message }));
        return [...(await firstOf('references', references)), ...(await problemsOf(db))];
      }),
    backup: async (file) => {
      await commits.flush();
      return backend.backup(file);
    },
    close: () => closeAll([() => commits.flush(), () => backend.writer?.close(), () => db.close()]),
  };
}
