/** A transaction may be run again from its start: then others may have written since it was begun for the first time. */
import { rmSync } from 'node:fs';
import { expect } from 'vitest';
import type { Database, Transaction } from '../../../src/engine/state/database.js';
import { openSqlite } from '../../../src/engine/state/sqlite/backend.js';
import { State } from '../../../src/engine/state/state.js';
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
  await state.runs.start(aRun());
  const backend = openSqlite(folder);
  const losing = new LosesConnection(backend.db);
  const db: Database = {
    read: (work) => backend.db.read(work),
    close: () => backend.db.close(),
    write: losing.write,
  };
  const { requests } = new State(folder, state.secret, { ...backend, db }, clock.now);
  const send = async (seq: number, id: number): Promise<void> => {
    await requests.record(RUN, SCOPE, 'companies', aRequest({ seq }), printsOf([id, 10]));
    await requests.record(RUN, SCOPE, 'companies', acknowledged(aJob(`j-${seq}`), { seq }), null);
    await requests.written();
  };
  await send(1, 1);
  // Another process sends the same profile by itself; its job is still unfinished when the request's job has ended.
  losing.meanwhile = () => state.sends.startProfile(SCOPE, 'companies', printsOf([2, 0]).ids);
  await send(2, 2);
  for (const job of ['j-1', 'j-2']) await state.jobs.update(SCOPE, aJob(job, { status: 'completed' }));
  const index = await state.known.load(SCOPE, 'companies');
  expect(index.matches(printsOf([1, 10]), 0)).toBe(true);
  expect(index.matches(printsOf([2, 10]), 0)).toBe(false);
  await db.close();
  rmSync(folder, { recursive: true });
});
