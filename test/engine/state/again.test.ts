/** A transaction may be run again from its start: then others may have written since it was begun for the first time. */
import { rmSync } from 'node:fs';
import { expect } from 'vitest';
import type { Database, Transaction } from '../../../src/engine/state/database.js';
import { ofRequests } from '../../../src/engine/state/parts/requests.js';
import { openSqlite } from '../../../src/engine/state/sqlite/backend.js';
import { Tables } from '../../../src/engine/state/tables.js';
import { acknowledged, aJob, aRequest, aRun, printsOf, RUN, SCOPE, test } from './support/state.js';

/** Its next write is undone once, as if the connection had been lost, and `meanwhile` is done before it is run again. */
class LosesConnection {
  meanwhile: (() => Promise<unknown>) | null = null;

  constructor(private readonly db: Database) {}

  readonly write = async <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => {
    const { meanwhile } = this;
    this.meanwhile = null;
    if (!meanwhile) return this.db.write(work);
    const lost = new Error('connection lost');
    await this.db
      .write(async (tx) => {
        await work(tx);
        throw lost;
      })
      .catch((error: unknown) => expect(error).toBe(lost));
    await meanwhile();
    return this.db.write(work);
  };
}

test('what others sent before a request was recorded again is not overlooked', async ({
  folder,
  state,
  clock,
}) => {
  await state.startRun(aRun());
  const backend = openSqlite(folder);
  const losing = new LosesConnection(backend.db);
  const { all, get, each, close } = backend.db;
  const db: Database = {
    all: all.bind(backend.db),
    get: get.bind(backend.db),
    each: each.bind(backend.db),
    close: close.bind(backend.db),
    write: losing.write,
  };
  const { record, written } = ofRequests(new Tables(folder, { ...backend, db }, clock.now));
  const send = async (seq: number, id: number): Promise<void> => {
    await record(RUN, SCOPE, 'companies', aRequest({ seq }), printsOf([id, 10]));
    await record(RUN, SCOPE, 'companies', acknowledged(aJob(`j-${seq}`), { seq }), null);
    await written();
  };
  await send(1, 1);
  // Another process sends the same profile by itself; its job is still unfinished when the request's job has ended.
  losing.meanwhile = () => state.startProfile(SCOPE, 'companies', printsOf([2, 0]).ids);
  await send(2, 2);
  for (const job of ['j-1', 'j-2']) await state.updateJob(SCOPE, aJob(job, { status: 'completed' }));
  const index = await state.fingerprints(SCOPE, 'companies');
  expect(index.matches(printsOf([1, 10]), 0)).toBe(true);
  expect(index.matches(printsOf([2, 10]), 0)).toBe(false);
  await db.close();
  rmSync(folder, { recursive: true });
});
