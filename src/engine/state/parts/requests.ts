/** The methods of the state for requests and their rows. */
import type { State } from '../interface.js';
import type { Tables } from '../tables.js';

type OfRequests =
  | 'requests'
  | 'record'
  | 'recordAll'
  | 'startWriter'
  | 'written'
  | 'idsOf'
  | 'lastSend'
  | 'sentLater'
  | 'sentByRun'
  | 'openJobs'
  | 'rowsOf';

export function ofRequests(tables: Tables): Pick<State, OfRequests> {
  const { db, backend, commits, requests, sends, sent: sentRows, fingerprints, history } = tables;
  const lastSend = async (run: string, seq: number): Promise<number> => {
    const id = await requests.idOf(db, run, seq);
    return id === null ? 0 : sends.lastOf(db, id);
  };
  return {
    requests: (run) => requests.ofRun(db, run),
    record: async (run, scope, kind, current, prints, shared = new Set(), rows = null) => {
      // Only before sending. An acknowledgement is recorded even if the check would fail.
      if (current.state === 'intent' || current.state === 'unknown') backend.check();
      // A copy, because the caller changes the record later.
      const request = { ...current };
      const sent = prints && { prints, shared, rows, ends: sends.ends };
      // An acknowledgement waits for the next intent, which saves a wait for the disk.
      const soon = request.state !== 'acknowledged';
      return commits.commit([{ run, scope, kind, request, sent }], soon);
    },
    recordAll: (run, scope, kind, some) =>
      commits.commit(some.map((request) => ({ run, scope, kind, request: { ...request }, sent: null }))),
    startWriter: async () => backend.writer?.start(),
    written: () => commits.commit([]),
    idsOf: async (run, seq) => (await fingerprints.of(db, await lastSend(run, seq))).ids,
    lastSend,
    sentLater: async (run, scope, kind, last) =>
      sentRows.laterThan(db, run, await tables.find(scope), kind, last),
    sentByRun: async (run, scope, ...rest) => sentRows.byRun(db, run, await tables.find(scope), ...rest),
    openJobs: async (scope, ...rest) => sentRows.openJobs(db, await tables.find(scope), ...rest),
    rowsOf: (run, seq) => history.ofRequest(db, run, seq),
  };
}
