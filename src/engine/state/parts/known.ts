/** The methods of the state for what is known about profiles: fingerprints, history, and column types. */
import type { State } from '../interface.js';
import { nextNumber, refuseMoved } from '../meta.js';
import { shortId } from '../row-lists.js';
import type { Tables } from '../tables.js';

type OfKnown =
  | 'fingerprints'
  | 'cells'
  | 'numberPlan'
  | 'mayBeOverwritten'
  | 'keepVerified'
  | 'newestFingerprints'
  | 'fingerprintsMark'
  | 'clearFingerprints'
  | 'compactFingerprints'
  | 'history'
  | 'pruneHistory'
  | 'columnTypes'
  | 'setColumnTypes';

export function ofKnown(tables: Tables): Pick<State, OfKnown> {
  const { db, backend, fingerprints, sends, history, plans, scopes, verified } = tables;
  return {
    fingerprints: async (scope, kind, since = null) =>
      fingerprints.load(db, await tables.find(scope), kind, since, tables.time()),
    cells: (send) => fingerprints.cellsOf(db, send),
    numberPlan: (run, scope) =>
      tables.writeIn(scope, async (tx, id) => {
        await refuseMoved(tx);
        const number = await nextNumber(tx);
        await plans.add(tx, run, id, number, tables.now());
        return number;
      }),
    mayBeOverwritten: async (run, scope, kind) => verified.isNeeded(db, run, await tables.find(scope), kind),
    keepVerified: (run, scope, kind, ids) =>
      tables.writeIn(scope, (tx, id) => verified.add(tx, run, id, kind, ids)),
    newestFingerprints: async (scope, kind) => sends.newest(db, await tables.find(scope), kind),
    fingerprintsMark: async (scope, kind) => {
      const id = await tables.find(scope);
      const newest = await sends.newest(db, id, kind);
      return `${newest} ${(await sends.lastCompleted(db, id, kind)) ?? 'never'}`;
    },
    clearFingerprints: (scope, kind) => tables.writeIn(scope, (tx, id) => sends.clear(tx, id, kind)),
    compactFingerprints: async (scope, kind, ids = 0) => {
      const compact = async (): Promise<boolean> =>
        fingerprints.compact(db, (work) => tables.write(work), await tables.find(scope), kind, ids);
      if (await tables.read(compact)) await backend.shrink();
    },
    history: (kind, id) => tables.read(() => history.find(db, kind, shortId(id))),
    pruneHistory: async (before) => {
      if (await tables.write((tx) => history.prune(tx, Math.floor(before)))) await backend.shrink();
    },
    columnTypes: (scope, kind) => scopes.columnTypes(db, scope, kind),
    setColumnTypes: (scope, kind, types) =>
      tables.write((tx) => scopes.setColumnTypes(tx, scope, kind, types)),
  };
}
