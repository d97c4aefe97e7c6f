/** The sandbox's own API, beside `api.md`: its key, and its document. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.js';
import { test as base } from '../support/sandbox.js';
import { send } from './http.js';

const test = base.extend<{ sandboxOptions: SandboxOptions }>({ sandboxOptions: { ports: { control: 0 } } });

test('needs the key, which is long and in the path alone', async ({ sandbox }) => {
  const { origin, pathname } = new URL(sandbox.controlUrl!);
  expect(pathname).toMatch(/^\/[\w-]{24}$/);
  for (const line of ['GET /ledger', 'GET /events', 'PATCH /settings', 'POST /reset'])
    for (const key of ['', `/${'x'.repeat(24)}`, pathname.slice(0, -1), `/api${pathname}`]) {
      const [method = '', path = ''] = line.split(' ');
      const { status, text } = await send(origin + key + path, { method, body: '{}' });
      expect([line, key, status]).toEqual([line, key, 403]);
      expect(text).toContain('the key is missing');
    }
  expect((await send(`${sandbox.controlUrl}/ledger`)).status).toBe(200);
});

test('the document names every request, and no other', async ({ sandbox }) => {
  const names = (text: string): Set<string> => new Set(text.match(/(?:GET|POST|PATCH|DELETE) \/[\w.]+/g));
  const served = await send(`${sandbox.controlUrl}/nowhere`);
  expect(names(readFileSync('docs/sandbox-api.md', 'utf8'))).toEqual(names(served.text));
});
