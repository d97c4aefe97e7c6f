/** `createClient` and `watchJob` as another program calls them. */
import { describe, expect, expectTypeOf } from 'vitest';
import {
  ConfigError,
  createClient,
  type LogEntry,
  ServiceError,
  WaitTimeoutError,
  watchJob,
} from '../../../src/engine/index.js';
import type * as written from '../../../src/engine/library/records.js';
import type * as checked from '../../../src/engine/service/contract.js';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { ManualClock, test } from '../../support/sandbox.js';

describe('createClient', () => {
  test('reads lists and logs requests, without the token', async ({ sandbox }) => {
    const log: LogEntry[] = [];
    const { url: baseUrl, lookupUrl: lookupBaseUrl, token } = sandbox;
    const client = createClient({ baseUrl, lookupBaseUrl, token, log: (entry) => log.push(entry) });
    const { records } = await client.lookup('embeds');
    await client.close();
    expect(records[0]).toMatchObject({ id: expect.any(Number), title: expect.any(String) });
    expect(log).toMatchObject([{ method: 'GET', status: 200 }]);
    expect(JSON.stringify(log)).not.toContain(token);
  });

  test('without a lookup host it says so, and asks nobody', async ({ sandbox }) => {
    const client = createClient({ baseUrl: sandbox.url, token: sandbox.token });
    await expect(client.lookup('embeds')).rejects.toThrow(ConfigError);
    await client.close();
    expect(sandbox.ledger()).toEqual([]);
  });

  test('http may name a host that is allowed', async () => {
    const service = { baseUrl: 'http://profiles.internal', token: 't' };
    expect(() => createClient(service)).toThrow(ConfigError);
    const client = createClient({ ...service, allowHttp: 'profiles.internal' });
    expect(client.baseUrl).toBe('http://profiles.internal');
    await client.close();
  });
});

const BODY = Buffer.from('{"companies":[{"company_id":"1","metadata":{"name":"A"}}]}');

/** A job of one row, and a client that can ask for it. */
async function aJob(sandbox: Sandbox) {
  const client = createClient({ baseUrl: sandbox.url, token: sandbox.token });
  await client.submit('companies', BODY);
  return { client, id: sandbox.ledger()[0]!.accepted!.job_id! };
}

describe('watchJob', () => {
  test('yields the record when it changed, to the end', async ({ start }) => {
    const clock = new ManualClock();
    const { client, id } = await aJob(await start({ clock }));
    const polled = {
      job: async (...asked: Parameters<typeof client.job>) => {
        clock.advance(20); // the shortest job takes 300
        return client.job(...asked);
      },
    };
    const seen: string[] = [];
    for await (const { status } of watchJob(polled, id, { intervalMs: 1 })) seen.push(status);
    expect([...new Set(seen)]).toEqual([
      'queued',
      'validating',
      'processing',
      'pending_refresh',
      'completed',
    ]);
    expect(seen.length).toBeLessThan(10);
    await client.close();
  });

  test('a record that was seen is not yielded again', async ({ start }) => {
    const clock = new ManualClock();
    const { client, id } = await aJob(await start({ clock }));
    const first = await client.job(id);
    clock.advance(10_000);
    const statuses: string[] = [];
    for await (const { status } of watchJob(client, first, { intervalMs: 1 })) statuses.push(status);
    expect(statuses).toEqual(['completed']);
    await client.close();
  });

  test('ends waiting, not the job', async ({ start }) => {
    const clock = new ManualClock();
    const { client, id } = await aJob(await start({ clock }));
    const last = async (options: object): Promise<string | undefined> => {
      let status: string | undefined;
      for await (const job of watchJob(client, id, { intervalMs: 1, ...options })) ({ status } = job);
      return status;
    };
    await expect(last({ timeoutMs: 20 })).rejects.toThrow(WaitTimeoutError);
    const reason = new Error('enough');
    await expect(last({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    clock.advance(10_000);
    expect(await last({})).toBe('completed');
    await client.close();
  });

  test('a job that is not known is an error', async ({ sandbox }) => {
    const client = createClient({ baseUrl: sandbox.url, token: sandbox.token });
    const watched = watchJob(client, 'urn:no-such-job');
    await expect(watched.next()).rejects.toThrow(ServiceError);
    await client.close();
  });
});

/** Fields by name, without "any other". */
type Named<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

// Held by the compiler: `npm run typecheck` fails when one of the two changes alone.
test('records as they are published are records as they are checked', () => {
  expectTypeOf<Named<written.Job>>().toEqualTypeOf<Named<checked.Job>>();
  expectTypeOf<written.Job>().toExtend<checked.Job>();
  expectTypeOf<checked.Job>().toExtend<written.Job>();
});
