/** Requests beside those of `requests.md`. */
import { expect } from 'vitest';
import { Ledger } from '../../src/sandbox/ledger.js';
import { test } from '../support/sandbox.js';
import { COMPANIES, COMPANY, companies, EMBEDS, get, post, send } from './http.js';

test('no Authorization', async ({ sandbox }) => {
  const reply = await send(sandbox.lookupUrl + EMBEDS);
  expect([reply.status, reply.text]).toEqual([
    401,
    expect.stringContaining('the Authorization header is missing'),
  ]);
});

test.for([
  ['\ufeff{"companies":[{"company_id":"1"}]}', 'not JSON'],
  [Buffer.from('{"companies":[{"company_id":"\xff"}]}', 'latin1'), 'not UTF-8'],
] as const)('the body %j is %s', async ([body, says], { sandbox }) => {
  const { status, text } = await post(sandbox, COMPANIES, '', { body });
  expect([status, text]).toEqual([400, expect.stringContaining(says)]);
});

test('every reply has an x-request-id of its own, and the headers that the service has', async ({
  sandbox,
}) => {
  const urls = [
    `${sandbox.lookupUrl}${EMBEDS}`,
    `${sandbox.url}/v1/background_jobs/x`,
    `${sandbox.url}/nowhere`,
  ];
  const replies = await Promise.all([
    ...urls.map((url) => get(sandbox, url)),
    ...[COMPANIES, COMPANY].map((path) => post(sandbox, path, companies(1))),
  ]);
  const ids = replies.map((reply) => reply.headers['x-request-id']);
  expect(new Set(ids).size).toBe(replies.length);
  expect(ids.sort()).toEqual(sandbox.ledger().map((entry) => entry.request_id).sort()); // biome-ignore format: one line
  for (const { headers } of replies) {
    expect(headers).toMatchObject({
      date: expect.any(String),
      server: 'profiles-sandbox',
      'content-type': 'application/json; charset=utf-8',
      'cache-control': expect.any(String),
      'content-length': expect.stringMatching(/^[1-9]/),
    });
  }
});

test('latency is waited, and can be changed while it runs', async ({ sandbox }) => {
  const answered: string[] = [];
  const later = async (name: string): Promise<void> => {
    await get(sandbox, sandbox.lookupUrl + EMBEDS);
    answered.push(name);
  };
  sandbox.limits.latencyMs = 60_000;
  const late = later('late');
  await expect.poll(() => sandbox.ledger()).toHaveLength(1);
  sandbox.limits.latencyMs = 0;
  await later('at once');
  expect(answered).toEqual(['at once']);
  await sandbox.stop(); // answers what it has taken
  await late;
  expect(answered).toEqual(['at once', 'late']);
});

test('copies are in the ledger', async ({ sandbox }) => {
  await post(sandbox, COMPANY, { company_id: 'c' });
  sandbox.ledger()[0]!.status = 500;
  expect(sandbox.ledger()).toMatchObject([{ status: 202 }]);
});

test('the ledger keeps the newest 100,000, under their numbers', () => {
  const ledger = new Ledger();
  const at = { time: '', listener: 'default', method: 'GET', path: '/', request_id: '' } as const;
  for (let n = 1; n <= 110_001; n++) ledger.open({ ...at, operation: 'job', fault: null });
  expect(ledger.count).toBe(100_000);
  const numbers = [10_001, 10_002, 110_001, 110_002].map((n) => ledger.get(n)?.n);
  expect(numbers).toEqual([undefined, 10_002, 110_001, undefined]);
});
