/** Pages of other origins, even one that knows the key, can neither read nor write, and the key does not leave. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { COMPANIES, companies, post, send } from '../sandbox/http.js';
import { test as base, EVIL, MISSING, title } from './browser.js';

interface Attacker {
  origin: string;
  page: Page;
  /** Headers of all that arrived there. */
  seen: NodeJS.Dict<string | string[]>[];
}

const test = base.extend<{ attacker: Attacker }>({
  attacker: async ({ browser }, use) => {
    const seen: Attacker['seen'] = [];
    const server = createServer((request, reply) => {
      seen.push({ ...request.headers, url: request.url });
      reply.writeHead(200, { 'content-type': 'text/html' }).end('<title>attacker</title>');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://${EVIL}:${(server.address() as AddressInfo).port}`;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(origin);
    await use({ origin, page, seen });
    await context.close();
    server.closeAllConnections();
    server.close();
  },
});

describe.skipIf(MISSING)(title('a page of another origin'), () => {
  test('reads nothing, by any way in, though it has the key', async ({ sandbox, attacker: { page } }) => {
    await post(sandbox, COMPANIES, companies(3));
    const found = await page.evaluate(async (target) => {
      const settled = async (ask: () => Promise<string>): Promise<string> => {
        try {
          return await ask();
        } catch (error) {
          return `failed: ${(error as Error).name}`;
        }
      };
      const loads = (element: HTMLElement, timeout = 'failed: no event'): Promise<string> =>
        new Promise((resolve) => {
          element.addEventListener('load', () => resolve('loaded'));
          element.addEventListener('error', () => resolve('failed: error'));
          setTimeout(resolve, 3_000, timeout);
          document.body.append(element);
        });
      const address = `${target}api/overview`;
      const script = Object.assign(document.createElement('script'), { src: `${target}page.js` });
      const frame = Object.assign(document.createElement('iframe'), { src: target });
      return {
        fetch: await settled(async () => (await fetch(address)).text()),
        events: await settled(
          () =>
            new Promise((resolve) => {
              const source = new EventSource(`${target}api/events`);
              source.onmessage = ({ data }) => resolve(String(data));
              source.onerror = () => {
                source.close();
                resolve('failed: error');
              };
            }),
        ),
        script: await loads(script),
        frame: await settled(async () => {
          await loads(frame);
          return frame.contentDocument === null ? 'failed: not ours' : String(frame.contentDocument.title);
        }),
      };
    }, sandbox.pageUrl!);
    for (const [way, result] of Object.entries(found)) expect(`${way} ${result}`).toMatch(/ failed: /);
  });

  test('writes nothing, by form or by fetch, to the page or the control route', async ({
    start,
    attacker: { origin, page },
  }) => {
    const sandbox = await start({ ports: { page: 0, control: 0 } });
    await post(sandbox, COMPANIES, companies(3));
    for (const target of [`${sandbox.pageUrl}api`, sandbox.controlUrl!]) {
      await page.evaluate(async (api) => {
        const ways: RequestInit[] = [
          { method: 'POST', mode: 'no-cors', body: '{"spec":"503:every=1"}' },
          { method: 'POST', body: '{"spec":"503:every=1"}' },
          { method: 'DELETE' },
        ];
        for (const way of ways) await fetch(`${api}/faults`, way).catch(() => {});
        await fetch(`${api}/reset`, { method: 'POST', mode: 'no-cors' }).catch(() => {});
        await fetch(`${api}/settings`, { method: 'PATCH', body: '{"fail_jobs":1}' }).catch(() => {});
      }, target);
      const answered = page.waitForResponse((reply) => reply.request().isNavigationRequest());
      await page.evaluate((api) => {
        const form = Object.assign(document.createElement('form'), {
          method: 'post',
          action: `${api}/reset`,
          enctype: 'text/plain',
        });
        document.body.append(form);
        form.submit();
      }, target);
      expect((await answered).status()).toBe(403);
      await page.waitForURL(`${target}/reset`);
      await page.goto(origin);
    }
    expect(sandbox.faults.list()).toEqual([]);
    expect(sandbox.limits.failJobs).toBe(0);
    expect(sandbox.ledger()).toHaveLength(1);
  });

  test('reaches nothing by a name of its own for this machine', async ({ start, attacker: { page } }) => {
    const sandbox = await start({ ports: { page: 0, control: 0 } });
    const rebound = (url: string): string => url.replace('127.0.0.1', EVIL);
    for (const url of [
      sandbox.pageUrl!,
      `${sandbox.pageUrl}api/overview`,
      `${sandbox.controlUrl}/overview`,
      `${sandbox.url}/openapi.json`,
      `${sandbox.lookupUrl}/openapi.json`,
      `${sandbox.euUrl}/openapi.json`,
    ]) {
      const reply = await page.goto(rebound(url));
      expect([reply!.status(), url]).toEqual([403, url]);
    }
  });

  test('does not learn the key from a link, or a window, or the request log', async ({
    sandbox,
    open,
    attacker: { origin, seen },
  }) => {
    const page = await open('profile?kind=companies&id=c-0').catch(() => open());
    await page.evaluate((href) => {
      const link = Object.assign(document.createElement('a'), { href, textContent: 'away' });
      document.body.append(link);
      link.click();
    }, `${origin}/away`);
    await page.waitForURL(`${origin}/away`);
    const arrived = seen.find(({ url }) => url === '/away');
    expect(arrived).toBeDefined();
    const [, key] = new URL(sandbox.pageUrl!).pathname.split('/');
    expect(JSON.stringify(seen)).not.toContain(key);
    expect(await page.evaluate(() => document.referrer)).toBe('');
    expect(JSON.stringify(sandbox.ledger())).not.toContain(key);
    // Who has the address without the key learns nothing of it either.
    const stranger = await send(new URL('/', sandbox.pageUrl!).href);
    expect([stranger.status, stranger.text.includes(key!)]).toEqual([403, false]);
  });
});
