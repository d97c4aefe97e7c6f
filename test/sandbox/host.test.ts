import { describe, expect, it } from 'vitest';
import { answersTo } from '../../src/sandbox/listen.js';
import { test } from '../support/sandbox.js';
import { COMPANIES, companies, LOOKUPS, post, send } from './http.js';

it.each<[host: string | undefined, address: string, answers: boolean]>([
  ['127.0.0.1:4100', '127.0.0.1', true],
  ['127.0.0.1', '127.0.0.1', true],
  ['127.1.2.3:80', '127.0.0.1', true],
  ['localhost:4100', '127.0.0.1', true],
  ['LOCALHOST', '127.0.0.1', true],
  ['app.localhost:4100', '127.0.0.1', true],
  ['[::1]:4100', '::1', true],
  [undefined, '127.0.0.1', true],
  ['', '127.0.0.1', false],
  ['evil.example', '127.0.0.1', false],
  ['evil.example:4100', '::1', false],
  ['localhost.evil.example', '127.0.0.1', false],
  ['127.0.0.1.evil.example', '127.0.0.1', false],
  ['evil.example', 'localhost', false],
  ['192.168.1.5:4100', '127.0.0.1', false],
  // Whoever listens elsewhere is reached by names that are not known here.
  ['192.168.1.5:4100', '0.0.0.0', true],
  ['ci-sandbox:4100', '0.0.0.0', true],
  ['ci-sandbox:4100', '::', true],
])('Host %s on %s: %s', (host, address, answers) => {
  expect(answersTo(host, address)).toBe(answers);
});

describe('a request for another host name', () => {
  test('is refused by every listener, carried out by none, and logged', async ({ sandbox }) => {
    const headers = { host: 'evil.example' };
    for (const url of [
      `${sandbox.lookupUrl}${LOOKUPS}embeds`,
      `${sandbox.url}/openapi.json`,
      `${sandbox.euUrl}/openapi.json`,
    ]) {
      const reply = await send(url, { headers });
      expect([url, reply.status]).toEqual([url, 403]);
      expect(reply.text).toContain('evil.example');
    }
    expect((await post(sandbox, COMPANIES, companies(1), { headers })).status).toBe(403);
    expect(sandbox.ledger()).toHaveLength(4);
    expect(sandbox.ledger().at(-1)).toMatchObject({ status: 403, accepted: null, operation: null });
  });

  test('is answered if the sandbox listens on all addresses', async ({ start }) => {
    const sandbox = await start({ host: '0.0.0.0' });
    expect((await send(`${sandbox.url}/openapi.json`, { headers: { host: 'ci-sandbox' } })).status).toBe(200);
  });
});
