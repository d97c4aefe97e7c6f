/** Requests as they go out and come back, and which rows each of them has. */
import type { FingerprintColumns } from '../../fingerprint-index.js';
import type { Kind } from '../../model.js';
import type { Transaction } from '../database.js';
import type { RequestRows } from '../history.js';
import type { State } from '../interface.js';
import type { RequestRecord } from '../requests.js';
import type { Tables } from '../tables.js';
import type { Scope } from '../types.js';

type OfRequests =
  | 'requests'
  | 'record'
  | 'recordAll'
  | 'written'
  | 'idsOf'
  | 'lastSend'
  | 'sentLater'
  | 'sentByRun'
  | 'openJobs'
  | 'rowsOf';

/** What goes out with an intent. */
interface Sent {
  prints: FingerprintColumns;
  shared: ReadonlySet<bigint>;
  rows: RequestRows | null;
}

export function ofRequests(tables: Tables): Pick<State, OfRequests> {
  const { db, backend, commits, requests, sends, sent, fingerprints, history } = tables;
  const lastSend = async (run: string, seq: number): Promise<number> => {
    const id = await requests.idOf(db, run, seq);
    return id === null ? 0 : sends.lastOf(db, id);
  };
  return {
    requests: (run) => requests.ofRun(db, run),
    record: async (run, scope, kind, current, prints, shared = new Set(), rows = null) => {
      // It may go out once this is on disk. What is accepted is recorded wherever it still can be.
      if (current.state === 'intent' || current.state === 'unknown') backend.check();
      // As it stands now: the caller goes on with it.
      const request = { ...current };
      const content = prints && { prints, shared, rows };
      // The next intent takes an acknowledgement along: one wait for the disk in place of two.
      const soon = request.state !== 'acknowledged';
      return commits.commit((tx) => put(tx, tables, { run, scope, kind }, request, content), soon);
    },
    recordAll: (run, scope, kind, some) => {
      const all = some.map((request) => ({ ...request }));
      return commits.commit(async (tx) => {
        for (const request of all) await put(tx, tables, { run, scope, kind }, request, null);
      });
    },
    written: () => commits.commit(async () => {}),
    idsOf: async (run, seq) => (await fingerprints.of(db, await lastSend(run, seq))).ids,
    lastSend,
    sentLater: async (run, scope, kind) => sent.laterThan(db, run, await tables.find(scope), kind),
    sentByRun: async (run, scope, ...rest) => sent.byRun(db, run, await tables.find(scope), ...rest),
    openJobs: async (scope, ...rest) => sent.openJobs(db, await tables.find(scope), ...rest),
    rowsOf: (run, seq) => history.ofRequest(db, run, seq),
  };
}

async function put(
  tx: Transaction,
  tables: Tables,
  { run, scope, kind }: { run: string; scope: Scope; kind: Kind },
  request: RequestRecord,
  sent: Sent | null,
): Promise<void> {
  const { requests, scopes, history, jobs, sends } = tables;
  // What is new refers to nothing yet. With many small requests, each statement that is left out counts.
  const { request: id, isNew } = await requests.put(tx, run, request, sent !== null);
  const of = { run, scope: await scopes.idOf(tx, scope), kind, request: id };
  if (sent) {
    const { prints, shared, rows } = sent;
    if (!isNew) await sends.letGo(tx, '= ?', id);
    await tables.sent.add(tx, of, prints, shared);
    if (rows && !isNew) await history.forgetRequest(tx, id);
    if (rows) await history.putRequest(tx, { ...of, at: tables.now() }, prints.ids, rows);
  }
  if (request.job) {
    const from = { kind, rows: request.rows, request: id, run };
    await jobs.add(tx, of.scope, request.job, from, tables.time());
  }
  // An intent's rows have just been added as what it is.
  if (!sent || request.state !== 'intent') await sends.stand(tx, id, request);
}
