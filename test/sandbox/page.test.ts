/** The page's server without a browser: who is let in, what leaves, what is never there. */
import { describe, expect } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { test as base } from '../support/sandbox.js';
import { COMPANIES, companies, post, type Send, send } from './http.js';

const test = base.extend<{ sandboxOptions: SandboxOptions }>({
  sandboxOptions: { ports: { page: 0 } },
});
const ask = (sandbox: Sandbox, path: string, options: Send = {}) => send(sandbox.pageUrl! + path, options);

describe('who may open it', () => {
  test.for<[name: string, path: string, options: Send, status: number]>([
    ['the shell', '', {}, 200],
    ['a permalink', 'job?id=x', {}, 200],
    ['a program with the key', 'api/overview', {}, 200],
    ['the page itself', 'api/overview', { headers: { 'sec-fetch-site': 'same-origin' } }, 200],
    ['another origin', 'api/overview', { headers: { origin: 'http://evil.example' } }, 403],
    ['another port of this machine', 'api/overview', { headers: { origin: 'http://127.0.0.1:1' } }, 403],
    ['a page without an origin', 'api/overview', { headers: { origin: 'null' } }, 403],
    ['a tag of another page', 'api/overview', { headers: { 'sec-fetch-site': 'cross-site' } }, 403],
    ['another port, by a tag', 'api/events', { headers: { 'sec-fetch-site': 'same-site' } }, 403],
    ['another name', '', { headers: { host: 'evil.example' } }, 403],
    [
      'a write from another origin',
      'api/reset',
      { method: 'POST', headers: { origin: 'http://evil.example' } },
      403,
    ],
    ['a write to the shell', '', { method: 'POST' }, 405],
    ['TRACE', '', { method: 'PUT' }, 405],
  ])('%s: %s %j gives %i', async ([, path, options, status], { sandbox }) => {
    const reply = await ask(sandbox, path, options);
    expect(reply.status).toBe(status);
    expect(reply.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self';");
    expect(reply.headers['content-security-policy']).not.toContain('unsafe');
    expect(reply.headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test.for(['', 'x/', `${'a'.repeat(24)}/`, '/', '%00/', 'api/overview'])(
    'the key %j is none',
    async (path, { sandbox }) => {
      const reply = await send(new URL(sandbox.pageUrl!).origin + (path === '/' ? '//' : `/${path}`));
      expect(reply.status).toBe(403);
      expect(reply.text).toContain('the key is missing');
    },
  );

  test('only the icon is kept by a browser, which otherwise asks for it with each key pressed in a search', async ({
    sandbox,
  }) => {
    const icon = await ask(sandbox, 'icon.svg', {});
    expect(icon.headers['cache-control']).toBe('private, max-age=86400');
  });

  test('each start has a key of its own', async ({ sandbox, start }) => {
    const other = await start({ ports: { page: 0 } });
    const path = (one: Sandbox): string => new URL(one.pageUrl!).pathname;
    expect(path(other)).not.toBe(path(sandbox));
    expect(path(sandbox)).toMatch(/^\/[\w-]{24}\/$/);
  });
});

describe('where the page is not served', () => {
  test('unless it was asked for', async ({ start }) => {
    const { pageUrl, controlUrl } = await start();
    expect([pageUrl, controlUrl]).toEqual([null, null]);
  });

  test('on a port that is taken, unless another one is allowed', async ({ start }) => {
    const first = await start({ ports: { page: '4103 or free' } });
    const second = await start({ ports: { page: '4103 or free' } });
    expect(second.pageUrl).not.toBe(first.pageUrl);
    const port = Number(new URL(second.pageUrl!).port);
    await expect(start({ ports: { page: port } })).rejects.toThrow('cannot listen');
  });

  test('in the service’s own listeners or its log', async ({ sandbox }) => {
    const path = new URL(sandbox.pageUrl!).pathname;
    expect((await send(sandbox.url + path)).status).toBe(404);
    await ask(sandbox, '');
    await ask(sandbox, 'api/overview');
    expect(sandbox.ledger()).toHaveLength(1);
  });
});

test('the module and the style sheet are small and complete, and load nothing', async ({ sandbox }) => {
  const shell = await ask(sandbox, '');
  expect(shell.text).not.toMatch(/<script(?![^>]* src=)/);
  expect(shell.text).not.toMatch(/ on\w+=| style=/);
  const [script, style] = [await ask(sandbox, 'page.js'), await ask(sandbox, 'page.css')];
  expect(script.headers['content-type']).toContain('javascript');
  expect(Buffer.byteLength(script.text) + Buffer.byteLength(style.text)).toBeLessThan(60_000);
  const addresses = (script.text + style.text).match(/https?:\/\/[^"'`\s)]+/g) ?? [];
  // Names of XML, not addresses.
  expect(addresses.filter((address) => !address.startsWith('http://www.w3.org/'))).toEqual([]);
  expect(style.text).not.toMatch(/@import|url\(/);
});

describe('events', () => {
  test('tell what changed, as it changes', async ({ sandbox }) => {
    const stop = new AbortController();
    const reply = await fetch(`${sandbox.pageUrl}api/events`, { signal: stop.signal });
    expect(reply.headers.get('content-type')).toContain('text/event-stream');
    let text = '';
    const overviews = () => [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, data]) => JSON.parse(data!));
    for await (const chunk of reply.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const seen = overviews();
      if (seen.length === 1 && sandbox.faults.list().length === 0) {
        sandbox.faults.add('fail-job:nth=9');
        await post(sandbox, COMPANIES, companies(3));
      }
      if (seen.at(-1)?.profiles.default.companies === 3) break;
    }
    stop.abort();
    const [first, ...rest] = overviews();
    expect(first).toMatchObject({ requests: 0, faults: [], jobs: { total: 0 } });
    expect(rest.at(-1)).toMatchObject({ requests: 1, faults: ['fail-job:nth=9'], jobs: { total: 1 } });
  });

  test('are on the control route, too, and end with the sandbox', async ({ start }) => {
    const sandbox = await start({ ports: { control: 0 } });
    const reply = await fetch(`${sandbox.controlUrl}/events`);
    await sandbox.stop();
    expect(await reply.text()).toMatch(/^retry: 1000\ndata: \{/);
  });
});
