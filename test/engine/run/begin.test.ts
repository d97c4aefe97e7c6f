/** The locks of an import, and what it marks as crashed once it has them. */
import { expect } from 'vitest';
import { LockedError } from '../../../src/engine/errors.js';
import { takeLocks } from '../../../src/engine/run/door.js';
import { aRun, SCOPE, test } from '../state/support/state.js';

const input = (kind: 'companies' | 'users') => ({ ...aRun().inputs[0]!, kind });

test('only runs of the same kind and account are marked as crashed', async ({ state }) => {
  await state.runs.start(aRun({ run: 'companies' }));
  await state.runs.start(aRun({ run: 'users', inputs: [input('users')] }));
  await state.runs.start(aRun({ run: 'both', inputs: [input('companies'), input('users')] }));
  await state.runs.start(aRun({ run: 'elsewhere', scope: { ...SCOPE, account: 'staging' } }));
  await state.runs.start(aRun({ run: 'ended' }));
  await state.runs.end('ended', { status: 'completed', finished: true, endedBy: null, summary: null });
  for (const lock of await takeLocks(state, SCOPE, ['companies'])) await lock.release();
  const runs = (await state.runs.all()).map(({ run, status }) => [run, status]);
  expect(Object.fromEntries(runs)).toEqual({
    companies: 'crashed',
    users: 'running',
    both: 'crashed',
    elsewhere: 'running',
    ended: 'completed',
  });
});

test('if one lock is taken, the others are released', async ({ state, reopen }) => {
  const other = await reopen();
  const users = await other.locks.take(SCOPE, 'users', 'another import');
  await expect(takeLocks(state, SCOPE, ['companies', 'users'])).rejects.toThrow(LockedError);
  expect(await other.locks.take(SCOPE, 'companies')).not.toBeNull();
  await users!.release();
});
