/** Faults beside those of `faults.md`: by chance, and how a client meets them on a real socket. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { UsageError } from '../../src/engine/errors.js';
import { createFaultPlan, FAULTS } from '../../src/sandbox/faults.js';
import { test } from '../support/sandbox.js';
import { COMPANIES, companies, EMBEDS, post, type Reply } from './http.js';

/** Nothing, or the code of the error. */
const failure = (sent: Promise<Reply>): Promise<unknown> =>
  sent.then(
    () => null,
    ({ code }) => code,
  );

test.for(['', '503:nth=1,retry-after=1\r\nx: y'])('the fault %j cannot be parsed', (spec, { sandbox }) => {
  expect(() => sandbox.faults.add(spec)).toThrow(UsageError);
  expect(() => sandbox.faults.add(spec)).toThrow(`fault "${spec}": `);
});

test('each fault is on a page', () => {
  const pages = ['faults', 'jobs'].map((name) => readFileSync(`test/sandbox/${name}.md`, 'utf8')).join('');
  const named = [...pages.matchAll(/^\$ fault ([a-z][\w-]+):/gm)].map(([, name]) => name!);
  expect(named).toEqual(expect.arrayContaining(Object.keys(FAULTS)));
});

describe('by chance', () => {
  test('as often as given, spread evenly, whatever came before', () => {
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

describe('connections', () => {
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
    const left = failure(post(sandbox, COMPANIES, companies(1), { signal: client.signal }));
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

test('the same seed gives the same sequence of faults', async ({ start }) => {
  const day = async (seed: number): Promise<(string | null)[]> => {
    const sandbox = await start({ seed, faults: ['503:p=0.3', 'reset-after:p=0.2'] });
    for (let i = 0; i < 25; i++) await failure(post(sandbox, COMPANIES, companies(1)));
    return sandbox.ledger().map((entry) => entry.fault);
  };
  const one = await day(7);
  expect(await day(7)).toEqual(one);
  expect(await day(8)).not.toEqual(one);
});
