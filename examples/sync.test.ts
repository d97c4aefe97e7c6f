/**
 * A test of a program that imports, against the whole service on this machine: real HTTP, real jobs, and faults on
 * demand.
 *
 *   node --test sync.test.js
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createClient, runImport, watchJob } from 'profiles-cli';
import { type Sandbox, startSandbox } from 'profiles-cli/sandbox';

/** The program under test: it imports what its own database holds. */
function sync(service: { baseUrl: string; token: string }, stateDir: string) {
  const rows = [
    { company_id: '00042', name: 'Ada Ltd', employees: 12 },
    { company_id: '00043', name: 'Bell & Co', employees: 7 },
  ];
  async function* lines() {
    for (const row of rows) yield `${JSON.stringify(row)}\n`;
  }
  return runImport({
    files: ['-'],
    stdin: lines(),
    format: 'ndjson',
    service,
    stateDir,
    retryDelayMs: 1,
  }).result();
}

let sandbox: Sandbox;
let stateDir: string;
before(async () => {
  sandbox = await startSandbox();
  stateDir = await mkdtemp(join(tmpdir(), 'sync-'));
});
after(async () => {
  await sandbox.stop();
  await rm(stateDir, { recursive: true });
});

test('companies arrive as they are, although the service is unavailable at first', async () => {
  sandbox.faults.add('503:first=1');
  const { summary } = await sync({ baseUrl: sandbox.url, token: sandbox.token }, stateDir);
  assert.equal(summary.status, 'completed');
  assert.equal(summary.retries, 1);
  assert.deepEqual(sandbox.show('companies', '00042')?.metadata, { name: 'Ada Ltd', employees: 12 });
});

test('a job is followed to its end', async () => {
  const client = createClient({ baseUrl: sandbox.url, token: sandbox.token });
  try {
    const body = Buffer.from('{"users":[{"user_id":"u1","company_id":"00042","metadata":{"plan":"pro"}}]}');
    const answer = await client.submit('users', body);
    assert.equal(answer.type === 'reply' && answer.status, 202);
    const [request] = sandbox.ledger().slice(-1);
    const seen = [];
    for await (const job of watchJob(client, request?.accepted?.job_id ?? '', { intervalMs: 10 }))
      seen.push(job.status);
    assert.equal(seen.at(-1), 'completed');
  } finally {
    await client.close();
  }
});
