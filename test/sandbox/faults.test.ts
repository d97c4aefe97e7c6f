/** Faults: how they are written, when they apply, and how a client meets them on a real socket. */
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { UsageError } from '../../src/engine/errors.js';
import { createFaultPlan, FAULTS } from '../../src/sandbox/faults.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { ManualClock, test } from '../support/sandbox.js';
import { COMPANIES, COMPANY, companies, EMBEDS, get, post, type Reply } from './http.js';

/** What the client saw: a status, or the name of the failure. */
async function outcome(sent: Promise<Reply>): Promise<string> {
  try {
    const reply = await sent;
    const html = reply.headers['content-type'] === 'text/html' ? ' html' : '';
    return `${reply.status}${html}`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return message === 'aborted' ? 'cut' : message === 'socket hang up' ? 'hung up' : (code ?? message);
  }
}

describe('a fault that cannot be parsed is named, with the problem and the correct form', () => {
  const NO_WHEN = 'is not nth=, every= or first= with a number from 1, or p= with one up to 1';

  test.for([
    ['', 'unknown fault ""', 'reset-after'],
    ['429', `"" ${NO_WHEN}`, '503:first=3'],
    ['429:frist=3', `"frist=3" ${NO_WHEN}`, '503:first=3'],
    ['429:toString=3', `"toString=3" ${NO_WHEN}`, '503:first=3'],
    ['429:nth=0', `"nth=0" ${NO_WHEN}`, '503:first=3'],
    ['429:p=1.1', `"p=1.1" ${NO_WHEN}`, '503:first=3'],
    ['600:nth=1', 'unknown fault "600"', 'from 200 to 599'],
    ['status:nth=1', 'unknown fault "status"', 'from 200 to 599'],
    ['constructor:nth=1', 'unknown fault "constructor"', 'from 200 to 599'],
    ['hang:nth=1,html', 'hang has no option "html"', 'on, accepted, for'],
    ['fail-job:nth=1,on=any', 'fail-job has no option "on"', 'available options: none'],
    ['hang:nth=1,on=poll', '"on=poll" is not a valid value of on', '503:first=3'],
    ['503:nth=1,retry-after=1\r\nx: y', 'is not a valid value', '503:first=3'],
    ['redirect:nth=1', 'needs location=<url>', '503:first=3'],
    ['redirect:nth=1,status=200,location=x', '"status=200" is not a valid value', '503:first=3'],
    ['short-job:nth=1,rows=0', '"rows=0" is not a valid value', '503:first=3'],
  ] as const)('%j', ([spec, message, hint], { sandbox }) => {
    const add = (): void => sandbox.faults.add(spec);
    expect(add).toThrow(UsageError);
    expect(add).toThrow(`fault "${spec}": `);
    expect(add).toThrow(message);
    expect(add).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }));
    expect(sandbox.faults.list()).toEqual([]);
  });
});

describe('when a fault applies', () => {
  test.for<[when: string, struck: number[]]>([
    ['nth=3', [3]],
    ['every=5', [5, 10]],
    ['first=2', [1, 2]],
    ['p=0', []],
    ['p=1', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
  ])('%s: of twelve, %j', async ([when, struck], { sandbox }) => {
    sandbox.faults.add(`503:${when},on=lookup`);
    for (let n = 1; n <= 12; n++) await get(sandbox, sandbox.lookupUrl + EMBEDS);
    expect(sandbox.ledger().flatMap(({ n, fault }) => (fault ? [n] : []))).toEqual(struck);
  });

  test('each counts the requests that it watches; the first of several applies', async ({ sandbox }) => {
    for (const spec of ['500:nth=2', '404:nth=1,on=lookup', '503:nth=4,on=any', '502:first=2'])
      sandbox.faults.add(spec);
    for (const one of ['submit', 'lookup', 'submit', 'identify', 'submit'])
      await (one === 'lookup'
        ? get(sandbox, sandbox.lookupUrl + EMBEDS)
        : post(sandbox, one === 'submit' ? COMPANIES : COMPANY, companies(1)));
    const seen = sandbox.ledger().map(({ fault }) => fault);
    expect(seen).toEqual(['502:first=2', '404:nth=1,on=lookup', '500:nth=2', '503:nth=4,on=any', null]);
    sandbox.reset(); // starts counting from one again
    await post(sandbox, COMPANIES, companies(1));
    expect(sandbox.ledger()).toMatchObject([{ fault: '502:first=2' }]);
    sandbox.faults.clear();
    expect(sandbox.faults.list()).toEqual([]);
  });

  test('by chance: as often as given, spread evenly, whatever came before', () => {
    const run = (seed: number, p: number): boolean[] => {
      const plan = createFaultPlan(seed, () => 0);
      plan.add(`429:p=${p}`);
      return Array.from({ length: 20_000 }, () => plan.strike('submit') !== undefined);
    };
    for (const p of [0.1, 0.5, 0.8]) {
      const struck = run(7, p);
      expect(Math.abs(struck.filter(Boolean).length - 20_000 * p)).toBeLessThan(300);
      const pairs = struck.filter((one, n) => one && struck[n + 1]);
      expect(Math.abs(pairs.length - 20_000 * p * p)).toBeLessThan(350);
    }
  });

  test('jobs fail at a rate, the same again after a restart', () => {
    let share = 0;
    const plan = createFaultPlan(3, () => share);
    const failed = (): boolean[] => Array.from({ length: 2_000 }, () => plan.outcome(1).type === 'failed');
    expect(failed()).not.toContain(true);
    share = 1;
    expect(failed()).not.toContain(false);
    share = 0.1;
    plan.restart();
    const some = failed();
    expect(Math.abs(some.filter(Boolean).length - 200)).toBeLessThan(50);
    plan.restart();
    expect(failed()).toEqual(some);
  });
});

describe('the answer to a bulk request, and whether it was carried out', () => {
  const rows: [spec: string, seen: string, carriedOut: boolean][] = [
    ['400:first=1', '400', false],
    ['503:first=1', '503', false],
    ['599:first=1', '599', false],
    ['200:first=1', '200', true],
    ['204:first=1', '204', true],
    ['304:first=1', '304', false],
    ['500:first=1,accepted', '500', true],
    ['502:first=1,html', '502 html', false],
    ['502:first=1,html,accepted', '502 html', true],
    ['200:first=1,html', '200 html', false],
    ['html:first=1', '200 html', false],
    ['redirect:first=1,location=http://127.0.0.1:1/', '307', false],
    ['redirect:first=1,location=/elsewhere,status=301', '301', false],
    ['reset-before:first=1', 'ECONNRESET', false],
    ['reset-body:first=1', 'ECONNRESET', false],
    ['reset-after:first=1', 'ECONNRESET', true],
    ['cut-header:first=1', 'hung up', true],
    ['cut-body:first=1', 'cut', true],
    ['cut-body:first=1,chunked', 'cut', true],
    ['hang:first=1,for=0', 'hung up', false],
    ['hang:first=1,for=0,accepted', 'hung up', true],
    ['hang-body:first=1,for=0.01', 'cut', true],
    ['drip:first=1,for=0.02', '202', true],
    ['no-job-id:first=1', '202', true],
    ['broken-json:first=1', '202', true],
    ['close:first=1', '202', true],
  ];

  test('each fault has a row here, but for statuses, and those of polls and jobs', () => {
    const others = Object.keys(FAULTS).filter((name) => !rows.some(([spec]) => spec.startsWith(`${name}:`)));
    expect(others).toEqual(['status', 'job-404', 'fail-job', 'stuck-job', 'unknown-status', 'short-job']);
  });

  test.for(rows)('%s: %s', async ([spec, seen, carriedOut], { sandbox }) => {
    sandbox.faults.add(spec);
    expect(await outcome(post(sandbox, COMPANIES, companies(50)))).toBe(seen);
    expect(await outcome(post(sandbox, COMPANIES, companies(1)))).toBe('202');
    const [struck, next] = sandbox.ledger();
    expect(struck).toMatchObject({ fault: spec, accepted: carriedOut ? { items: 50 } : null });
    expect(struck?.status).toBe(/^\d/.test(seen) ? Number.parseInt(seen, 10) : null);
    expect(next).toMatchObject({ fault: null, status: 202 });
  });
});

describe('what the replies contain', () => {
  const first = async (sandbox: Sandbox, spec: string): Promise<Reply> => {
    sandbox.faults.add(spec);
    return post(sandbox, COMPANIES, companies(1));
  };

  test.for<[spec: string, header: string, value: string | undefined]>([
    ['429:first=1,retry-after=7', 'retry-after', '7'],
    ['503:first=1,retry-after-date=90', 'retry-after', 'Fri, 02 Jan 2026 03:05:35 GMT'],
    ['503:first=1,retry-after-date=-90', 'retry-after', 'Fri, 02 Jan 2026 03:02:35 GMT'],
    ['redirect:first=1,location=http://127.0.0.1:1/a', 'location', 'http://127.0.0.1:1/a'],
    ['202:first=1,retry-after=1', 'retry-after', '1'],
    ['429:first=1', 'retry-after', undefined],
    ['204:first=1', 'content-length', undefined],
  ])('%s sends %s: %s', async ([spec, header, value], { start }) => {
    const sandbox = await start({ clock: new ManualClock() });
    expect((await first(sandbox, spec)).headers[header]).toBe(value);
  });

  test('a request that is refused anyway is refused, even with a fault for a 2xx answer', async ({
    sandbox,
  }) => {
    for (const spec of ['200:first=1', 'no-job-id:first=2', 'broken-json:first=3']) {
      sandbox.faults.add(spec);
      const reply = await post(sandbox, COMPANIES, { companies: [] });
      expect([reply.status, reply.json()]).toMatchObject([400, { errors: [{}] }]);
    }
  });

  test('200 has the whole job record, no-job-id the rest of it, and broken-json breaks it off', async ({
    sandbox,
  }) => {
    const record = { status: 'queued', total_rows: 1, job_id: expect.any(String) };
    expect((await first(sandbox, '200:first=1')).json()).toMatchObject(record);
    const rest = (await first(sandbox, 'no-job-id:first=1')).json();
    expect(rest).toMatchObject({ status: 'queued', total_rows: 1 });
    expect(rest).not.toHaveProperty('job_id');
    const { text, headers } = await first(sandbox, 'broken-json:first=1');
    expect([text.length, text]).toEqual([
      Number(headers['content-length']),
      expect.stringContaining('job_id'),
    ]);
    expect(() => JSON.parse(text)).toThrow();
  });

  test('a drip is the whole reply, piece by piece', async ({ sandbox }) => {
    sandbox.faults.add('drip:first=1,for=0.08,on=lookup');
    const pieces = await new Promise<string[]>((resolve, reject) => {
      const sent = request(sandbox.lookupUrl + EMBEDS, (reply) => {
        const seen: string[] = [];
        reply.setEncoding('utf8').on('data', (piece: string) => seen.push(piece));
        reply.on('end', () => resolve(seen)).on('error', reject);
      });
      sent.on('error', reject).end();
    });
    expect(pieces.length).toBeGreaterThan(1);
    expect(JSON.parse(pieces.join(''))).toBeTypeOf('object');
  });
});

describe('connections', () => {
  test('reset-before resets before the body has arrived', async ({ sandbox }) => {
    sandbox.faults.add('reset-before:first=1');
    const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
    const failure = new Promise((resolve) => socket.on('error', resolve));
    socket.write(`POST ${COMPANIES} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n`);
    expect(await failure).toMatchObject({ code: 'ECONNRESET' });
  });

  test('reset-body waits for half of the body', async ({ sandbox }) => {
    sandbox.faults.add('reset-body:first=1');
    const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
    let reset = false;
    const failure = new Promise((resolve) => socket.on('error', resolve));
    void failure.then(() => {
      reset = true;
    });
    socket.write(
      `POST ${COMPANIES} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(400)}`,
    );
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    await sleep(20); // the server has the first part by now: nothing may happen
    expect(reset).toBe(false);
    socket.write('x'.repeat(100));
    expect(await failure).toMatchObject({ code: 'ECONNRESET' });
  });

  test('hang lasts until the client leaves', async ({ sandbox }) => {
    sandbox.faults.add('hang:first=1');
    const client = new AbortController();
    const left = outcome(post(sandbox, COMPANIES, companies(1), { signal: client.signal }));
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    client.abort();
    expect(await left).toBe('ABORT_ERR');
    expect(sandbox.ledger()).toMatchObject([{ status: null, accepted: null }]);
  });

  test('close announces keep-alive, but closes the connection', async ({ sandbox }) => {
    sandbox.faults.add('close:first=1');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const closed = new Promise<void>((resolve) => {
      agent.on('free', (socket) => socket.on('close', () => resolve()));
    });
    const reply = await post(sandbox, COMPANIES, companies(1), { agent });
    expect(reply.headers.connection).toBe('keep-alive');
    await closed;
    agent.destroy();
  });
});

describe('where faults apply', () => {
  test('only the operation that they name', async ({ sandbox }) => {
    for (const on of ['identify', 'job', 'lookup']) sandbox.faults.add(`503:every=1,on=${on}`);
    const { links } = (await post(sandbox, COMPANIES, companies(1))).json() as { links: string };
    const urls = [links, sandbox.lookupUrl + EMBEDS, `${sandbox.url}/openapi.json`, `${sandbox.url}/nowhere`];
    const replies = [post(sandbox, COMPANY, { company_id: 'c' }), ...urls.map((url) => get(sandbox, url))];
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([503, 503, 503, 200, 404]);
  });

  test('job-404 applies to polls', async ({ sandbox }) => {
    sandbox.faults.add('job-404:nth=2');
    const { links } = (await post(sandbox, COMPANIES, companies(1))).json() as { links: string };
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await get(sandbox, links)).status);
    expect(statuses).toEqual([200, 404, 200]);
  });
});

test('the same seed gives the same sequence of faults', async ({ start }) => {
  const day = async (seed: number): Promise<(string | null)[]> => {
    const sandbox = await start({ seed, faults: ['503:p=0.3', 'reset-after:p=0.2'] });
    for (let i = 0; i < 25; i++) await outcome(post(sandbox, COMPANIES, companies(1)));
    return sandbox.ledger().map((entry) => entry.fault);
  };
  const one = await day(7);
  expect(await day(7)).toEqual(one);
  expect(await day(8)).not.toEqual(one);
});
