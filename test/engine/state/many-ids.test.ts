/** More ids than are told apart at a time are read in parts: what comes of them is the same. */
import { expect } from 'vitest';
import type { Kind } from '../../../src/engine/model.js';
import { Access } from '../../../src/engine/state/access.js';
import { Known } from '../../../src/engine/state/known.js';
import { openSqlite } from '../../../src/engine/state/sqlite/backend.js';
import type { State } from '../../../src/engine/state/state.js';
import { acknowledged, aJob, aRun, printsOf, SCOPE, test } from './support/state.js';

const KIND: Kind = 'users';
const ROWS = 1_500;

/** As random as a hash is, in its high word too. */
const idOf = (n: number): bigint => BigInt.asUintN(64, BigInt(n + 1) * 0x9e3779b97f4a7c15n);

/** Each run sends a part of the ids anew, all of them completed but the last one. */
async function sendAll(state: State): Promise<void> {
  for (const [number, share] of [1, 1, 2, 3, 5].entries()) {
    const run = `run ${number}`;
    const ids = Array.from({ length: ROWS }, (_, n) => n).filter((n) => n % share === 0);
    const prints = { ...printsOf(...ids.map((n) => [n, 1] as const)), ids: BigUint64Array.from(ids, idOf) };
    await state.runs.start(aRun({ run, scope: SCOPE }));
    await state.requests.record(run, SCOPE, KIND, acknowledged(aJob(run)), prints);
    if (share < 5) await state.jobs.update(SCOPE, aJob(run, { status: 'completed' }));
  }
}

test.for([ROWS * 10, 100])('are compacted, %s at a time', async (atOnce, { state, folder, disk }) => {
  await sendAll(state);
  const { db } = openSqlite(folder);
  const known = new Known(new Access(db, folder, Date.now), async () => {}, atOnce);
  const open = ROWS / 5;
  await known.compact(SCOPE, KIND);
  // The last row of each id, and all those of the open send; what a send of the same id holds still counts until then.
  const rows = disk.prepare('SELECT sum(length(ids)) / 8 AS rows FROM fingerprints').get();
  expect(rows).toEqual({ rows: ROWS });
  expect((await state.known.load(SCOPE, KIND)).size).toBe(ROWS - open);
  await db.close();
});
