/** What a test sees of the profiles in a sandbox of its own. */
import { expect } from 'vitest';
import { hurriedClock, test } from '../support/sandbox.js';
import { post, USERS } from './http.js';

test('lists and counts profiles as jobs complete, by kind and region', async ({ start }) => {
  const sandbox = await start({ clock: hurriedClock(1_000) });
  expect([sandbox.count('users'), await sandbox.list('users')]).toEqual([
    0,
    { total: 0, found: 0, rows: [] },
  ]);
  const users = ['b', 'a', 'c'].map((user_id) => ({
    user_id,
    company_id: 'x',
    metadata: { name: `of ${user_id}` },
  }));
  await post(sandbox, USERS, { users });
  await post(sandbox, USERS, { users: [{ user_id: 'eu-1' }] }, { to: sandbox.euUrl! });
  await expect.poll(() => sandbox.count('users')).toBe(3);
  await expect.poll(() => sandbox.count('users', 'eu')).toBe(1);
  expect(sandbox.count('companies')).toBe(0);
  const ids = async (...query: Parameters<typeof sandbox.list>) =>
    (await sandbox.list(...query)).rows.map(({ id }) => id);
  expect(await ids('users')).toEqual(['a', 'b', 'c']);
  expect(await ids('users', { region: 'eu' })).toEqual(['eu-1']);
  expect(await ids('users', { sort: { by: 'id', descending: true }, limit: 1 })).toEqual(['c']);
  expect(await sandbox.list('users', { search: 'OF B' })).toMatchObject({
    total: 3,
    found: 1,
    rows: [{ id: 'b' }],
  });
  sandbox.reset();
  expect([sandbox.count('users'), sandbox.count('users', 'eu')]).toEqual([0, 0]);
});
