import { describe, expect } from 'vitest';
import { ConfigError, createClient, type LogEntry, UsageError } from '../../../src/engine/index.js';
import { test } from '../../support/sandbox.js';

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

  test('a signal ends a request', async ({ start }) => {
    const sandbox = await start({ faults: ['hang:every=1,on=any'] });
    const client = createClient({ baseUrl: sandbox.url, token: sandbox.token });
    const reason = new Error('enough');
    const stop = new AbortController();
    const asked = client.submit('companies', Buffer.from('{"companies":[]}'), stop.signal);
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await client.close();
  });

  test('http may name a host that is allowed', async () => {
    const service = { baseUrl: 'http://profiles.internal', token: 't' };
    expect(() => createClient(service)).toThrow(ConfigError);
    const client = createClient({ ...service, allowHttp: 'profiles.internal' });
    expect(client.baseUrl).toBe('http://profiles.internal');
    await client.close();
  });

  test.for([0, -1, 0.5, Number.NaN])('a deadline of %s is refused', (timeoutMs) => {
    const make = () => createClient({ baseUrl: 'https://api.example', token: 't', timeoutMs });
    expect(make).toThrow(UsageError);
    expect(make).toThrow(`timeoutMs: ${timeoutMs}`);
  });

  test.for<[given: unknown, message: RegExp]>([
    [undefined, /^the options must be an object$/],
    [null, /^the options must be an object$/],
    [{ token: 't' }, /^baseUrl must be given, as text$/],
    [{ baseUrl: 'https://api.example' }, /^token must be given, as text$/],
    [{ baseUrl: 'https://api.example', token: 5 }, /^token must be given, as text$/],
  ])('%j is refused', ([given, message]) => {
    const make = () => createClient(given as never);
    expect(make).toThrow(UsageError);
    expect(make).toThrow(message);
  });

  test('a token that cannot stand in a header is refused, and not repeated', () => {
    const make = () => createClient({ baseUrl: 'https://api.example', token: 'secret\nx' });
    expect(make).toThrow(UsageError);
    expect(make).not.toThrow(/secret/);
  });
});
