/** How a sandbox starts and stops, and who can reach it. */
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { readLookups, type SandboxOptions, startSandbox } from '../../src/sandbox/index.js';
import { DEFAULT_LOOKUPS, LOOKUPS_FILE } from '../../src/sandbox/lookups.js';
import { scratch } from '../support/cli.js';
import { test } from '../support/sandbox.js';
import { COMPANIES, companies, EMBEDS, get, LOOKUPS, post, send } from './http.js';

test.for<[given: object, message: string, hint: string]>([
  [{ seeds: 1 }, 'there is no option seeds', 'did you mean seed?'],
  [{ limits: { latencyMS: 1 } }, 'there is no option limits.latencyMS', 'did you mean limits.latencyMs?'],
  [{ ports: { pages: 0 } }, 'there is no option ports.pages', 'did you mean ports.page?'],
  [{ lookups: { embed: [] } }, 'there is no option lookups.embed', 'did you mean lookups.embeds?'],
  [{ host: '203.0.113.7' }, 'cannot listen on 203.0.113.7', '--host'],
])('the option %j is refused', async ([given, message, hint]) => {
  const refusal = { message: expect.stringContaining(message), hint: expect.stringContaining(hint) };
  await expect(startSandbox(given)).rejects.toMatchObject(refusal);
});

test('a port that is taken is named, with the hint; EU can be left out', async ({ sandbox, start }) => {
  const { port } = new URL(sandbox.url);
  await expect(startSandbox({ ports: { eu: Number(port) } })).rejects.toMatchObject({
    message: expect.stringContaining(port),
    hint: expect.stringContaining('--eu-port 0'),
  });
  expect((await start({ ports: { eu: null } })).euUrl).toBeNull();
});

test('listens on loopback only', async ({ start }) => {
  const sandbox = await start({ ports: { control: 0 } });
  const outside = Object.values(networkInterfaces())
    .flat()
    .filter((address) => address?.family === 'IPv4' && !address.internal)
    .map((address) => address!.address);
  for (const url of [sandbox.url, sandbox.euUrl, sandbox.lookupUrl, sandbox.controlUrl]) {
    const { port } = new URL(url!);
    await expect(send(`http://127.0.0.1:${port}/`)).resolves.toBeDefined();
    // 127.0.0.2 is this machine too, and needs no network: a listener on every address would answer there.
    for (const address of ['127.0.0.2', ...outside])
      await expect(send(`http://${address}:${port}/`)).rejects.toThrow('ECONNREFUSED');
  }
});

test('on every address, it answers other machines, but its control route does not', async ({ start }) => {
  const sandbox = await start({ host: '0.0.0.0', ports: { control: 0 } });
  const at = (url: string): string => url.replace('127.0.0.1', '127.0.0.2');
  expect((await send(`${at(sandbox.url)}/`)).status).toBe(404);
  await expect(send(`${at(sandbox.controlUrl!)}/faults`)).rejects.toThrow('ECONNREFUSED');
});

describe('a stop', () => {
  test('lets a request in flight finish, closes idle connections and frees its ports', async () => {
    const sandbox = await startSandbox({ limits: { latencyMs: 60_000 } });
    const agent = new Agent({ keepAlive: true });
    const under = post(sandbox, COMPANIES, companies(1), { agent });
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    await sandbox.stop();
    expect((await under).status).toBe(202);
    await expect(send(sandbox.url)).rejects.toThrow('ECONNREFUSED');
    agent.destroy();
  });

  test('does not wait for a client that hangs', async () => {
    const faults = ['hang:first=1', 'hang-body:first=1,on=lookup', 'drip:first=1,on=identify,for=600'];
    const sandbox = await startSandbox({ faults });
    const hanging = [post(sandbox, COMPANIES, companies(1)), get(sandbox, sandbox.lookupUrl + EMBEDS)].map(
      (sent) => sent.catch((error: Error) => error),
    );
    const dripping = post(sandbox, '/v1/companies/identify', { company_id: 'c' });
    await expect.poll(() => sandbox.ledger()).toHaveLength(3);
    await sandbox.stop();
    for (const ended of await Promise.all(hanging)) expect(ended).toBeInstanceOf(Error);
    expect((await dripping).json()).toMatchObject({ company_id: 'c' });
  });
});

describe('embeds and checklists', () => {
  const OURS = [{ display_name: 'Ours', key: 'ours', data_type: 'checklist' }];
  const EVERY = { ...DEFAULT_LOOKUPS, checklists: OURS };
  const GIVEN = { embeds: [{ id: 1, title: 'Given', type: 'card' as const }] };
  const [EXAMPLE, STARTED] = ['Welcome to the new dashboard', 'Getting started'];
  const withFile = (lists: object = { checklists: OURS }): string => {
    const dataDir = scratch();
    writeFileSync(join(dataDir, LOOKUPS_FILE), JSON.stringify(lists));
    return dataDir;
  };

  test.for([
    ['nowhere.json', 'the lookup lists cannot be read: no such file'],
    ['.', 'the lookup lists cannot be read: this is a folder, not a file'],
    ['text.json', 'not JSON'],
    ['wrong.json', 'embeds.0.type'],
  ])('a file that cannot be read is named, with the reason: %s', ([name, reason]) => {
    const folder = scratch();
    writeFileSync(join(folder, 'text.json'), 'text');
    writeFileSync(join(folder, 'wrong.json'), '{"embeds":[{"id":1,"title":"a","type":"poster"}]}');
    expect(() => readLookups(join(folder, name!))).toThrow(reason);
  });

  test.for<[what: string, options: () => SandboxOptions, embeds: string, checklists: string]>([
    ['nothing said', () => ({}), EXAMPLE, STARTED],
    ['a file with one list', () => ({ dataDir: withFile() }), EXAMPLE, 'Ours'],
    ['one list given', () => ({ lookups: GIVEN }), 'Given', STARTED],
    ['one list given beside a file', () => ({ dataDir: withFile(), lookups: GIVEN }), 'Given', STARTED],
    [
      'a file read, with every list',
      () => ({ lookups: readLookups(join(withFile(EVERY), LOOKUPS_FILE)) }),
      EXAMPLE,
      'Ours',
    ],
  ])('%s', async ([, options, embeds, checklists], { start }) => {
    const sandbox = await start(options());
    const first = async (list: string): Promise<unknown> =>
      ((await get(sandbox, `${sandbox.lookupUrl}${LOOKUPS}${list}`)).json() as unknown[])[0];
    expect(await first('embeds')).toMatchObject({ title: embeds });
    expect(await first('checklists')).toMatchObject({ display_name: checklists });
  });
});
