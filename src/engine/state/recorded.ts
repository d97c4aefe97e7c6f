/** A request as it is recorded, with its rows: what one transaction does for it. */
import type { FingerprintColumns } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import type { Transaction } from './database.js';
import type { RequestRows } from './history.js';
import type { RequestRecord } from './requests.js';
import type { Tables } from './tables.js';
import type { Scope } from './types.js';

/** Plain data: it may be written by another thread. */
export interface Recorded {
  run: string;
  scope: Scope;
  kind: Kind;
  request: RequestRecord;
  /** What goes out with an intent. */
  sent: {
    prints: FingerprintColumns;
    shared: ReadonlySet<bigint>;
    rows: RequestRows | null;
    /** How many jobs of other runs have ended here (`Sends.endsOfOthers`). */
    ends: number;
  } | null;
}

export async function putRecorded(
  tx: Transaction,
  tables: Omit<Tables, 'backend'>,
  { run, scope, kind, request, sent }: Recorded,
): Promise<void> {
  const { requests, scopes, history, jobs, sends } = tables;
  // What is new refers to nothing yet. With many small requests, each statement that is left out counts.
  const { request: id, isNew } = await requests.put(tx, run, request, sent !== null);
  const of = { run, scope: await scopes.idOf(tx, scope), kind, request: id };
  if (sent) {
    const { prints, shared, rows, ends } = sent;
    if (!isNew) await sends.letGo(tx, '= ?', id);
    await tables.sent.add(tx, of, prints, shared, ends);
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
