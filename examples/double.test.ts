/**
 * The service as a test double, in vitest: each test has its own, on free ports.
 *
 *   npx vitest run double.test.ts
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runImport } from 'profiles-cli';
import { type Sandbox, startSandbox } from 'profiles-cli/sandbox';
import { afterEach, beforeEach, expect, test } from 'vitest';

let sandbox: Sandbox;
let stateDir: string;
beforeEach(async () => {
  sandbox = await startSandbox();
  stateDir = await mkdtemp(join(tmpdir(), 'double-'));
});
afterEach(async () => {
  await sandbox.stop();
  await rm(stateDir, { recursive: true });
});

/** The code under test: it would be your own. */
const importUsers = (records: object[]) =>
  runImport({
    records,
    kind: 'users',
    service: { baseUrl: sandbox.url, token: sandbox.token },
    stateDir,
    retryDelayMs: 1,
    onFailure: 'isolate',
  }).result();

test('users arrive', async () => {
  const { summary } = await importUsers([{ user_id: 'u-1', company_id: 'acme', metadata: { plan: 'pro' } }]);
  expect(summary.status).toBe('completed');
  expect(sandbox.show('users', 'u-1')).toMatchObject({ companyId: 'acme', metadata: { plan: 'pro' } });
});

test('an outage is survived', async () => {
  sandbox.faults.add('503:first=2');
  const { summary } = await importUsers([{ user_id: 'u-1' }]);
  expect(summary).toMatchObject({ status: 'completed', retries: 2 });
});

test('a row that the service cannot process is found, and the others arrive', async () => {
  sandbox.limits.failRows = [['plan', 'gold']];
  const { summary } = await importUsers([
    { user_id: 'u-1', metadata: { plan: 'pro' } },
    { user_id: 'u-2', metadata: { plan: 'gold' } },
    { user_id: 'u-3', metadata: { plan: 'free' } },
  ]);
  expect(summary.rows).toMatchObject({ completed: 2, rejected: 1 });
  expect(summary.rejected[0]).toMatchObject({ line: 2 });
  expect(sandbox.count('users')).toBe(2);
});

test('the service saw what you meant to send', async () => {
  await importUsers([{ user_id: 'u-1' }, { user_id: 'u-2' }]);
  const [request] = sandbox.ledger();
  expect(request).toMatchObject({
    operation: 'submit',
    status: 202,
    accepted: { items: 2, ids: ['u-1', 'u-2'] },
  });
});
