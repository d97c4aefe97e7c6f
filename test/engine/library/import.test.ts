/** `runImport` and `planImport` as another program calls them. Long because every way of stopping has its case. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, vi } from 'vitest';
import {
  type ImportEvent,
  type ImportRequest,
  LockedError,
  planImport,
  runImport,
} from '../../../src/engine/index.js';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { scratch } from '../../support/cli.js';
import { requestTo, test } from '../../support/sandbox.js';
import { httpServer } from '../../support/servers.js';
import { zip } from '../../support/zip.js';

const aRequest = (sandbox: Sandbox, rows = 3, over: Partial<ImportRequest> = {}) =>
  requestTo(sandbox, { files: ['companies.csv'], ...over }, rows);

const submissions = (sandbox: Sandbox): number =>
  sandbox.ledger().filter(({ operation, accepted }) => operation === 'submit' && accepted).length;

async function typesOf(events: AsyncIterable<ImportEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) if (type !== 'progress') types.push(type);
  return types;
}

describe('runImport', () => {
  test('yields what happens, the summary last, and then gives the result', async ({ sandbox }) => {
    const run = runImport(aRequest(sandbox));
    const types = await typesOf(run);
    expect(types.slice(0, 2)).toEqual(['plan', 'submitted']);
    expect(types.at(-1)).toBe('summary');
    const { summary, exit, failure } = await run.result();
    expect({ status: summary.status, exit, failure }).toEqual({
      status: 'completed',
      exit: 0,
      failure: null,
    });
    expect(summary).toMatchObject({ account: null, region: 'default', base_url: sandbox.url });
    expect(sandbox.show('companies', '3')?.metadata).toEqual({ name: 'Company 3' });
  });

  test('needs no reader of its events', async ({ sandbox }) => {
    const { summary } = await runImport(aRequest(sandbox)).result();
    expect(summary.rows).toMatchObject({ read: 3, submitted: 3, completed: 3 });
  });

  test('does nothing before it is asked for something', async ({ sandbox }) => {
    const request = aRequest(sandbox);
    const run = runImport(request);
    await new Promise((resolve) => setImmediate(resolve));
    expect(readdirSync(request.cwd)).toEqual(['companies.csv']);
    await run.result();
    expect(readdirSync(request.cwd).sort()).toEqual(['.state', 'companies.csv']);
  });

  test('reads what is piped in', async ({ sandbox }) => {
    const stdin = async function* () {
      yield '{"user_id":"u1","company_id":"00042",';
      yield Buffer.from('"plan":"pro"}\n');
    };
    const request = aRequest(sandbox, 0, { files: ['-'], format: 'ndjson', stdin: stdin() });
    const { summary } = await runImport(request).result();
    expect(summary.kinds).toEqual(['users']);
    expect(sandbox.show('users', 'u1')).toMatchObject({ companyId: '00042', metadata: { plan: 'pro' } });
  });

  test('unpacks copies of archives, which are removed then, and archives of the user, which stay', async ({
    sandbox,
  }) => {
    const content = 'company_id\nc1\n';
    const stdin = async function* () {
      yield zip([{ name: 'piped.csv', content }]);
    };
    const request = aRequest(sandbox, 0, { files: ['own.zip:own.csv', '-'], stdin: stdin() });
    const own = join(request.cwd, 'own.zip');
    // A member that is named is read whatever else is in the archive.
    writeFileSync(own, zip([{ name: 'mimetype' }, { name: 'own.csv', content }]));
    const run = runImport(request);
    for await (const { type } of run) {
      if (type !== 'plan') continue;
      const [spool] = readdirSync(join(request.cwd, '.state/spool')).map((id) => `.state/spool/${id}`);
      const copies = readdirSync(join(request.cwd, spool!)).filter((name) => name.startsWith('copy-'));
      expect(copies.map((copy) => readdirSync(join(request.cwd, spool!, copy)))).toEqual([
        ['input'],
        ['input'],
      ]);
    }
    expect((await run.result()).summary.files.map(({ path }) => path)).toEqual(['own.zip:own.csv', '-']);
    expect(existsSync(own)).toBe(true);
  });

  test('takes rules from the request and from a mapping file, the request first', async ({ sandbox }) => {
    const request = aRequest(sandbox, 1, {
      mapping: 'mapping.json',
      rules: { map: [['name', 'title']], set: [['source', 'crm']] },
    });
    const mapping = { map: { name: 'label' }, set: { source: 'file', tier: 'gold' } };
    writeFileSync(join(request.cwd, 'mapping.json'), JSON.stringify(mapping));
    await runImport(request).result();
    expect(sandbox.show('companies', '1')?.metadata).toEqual({
      title: 'Company 1',
      source: 'crm',
      tier: 'gold',
    });
  });

  test('a failure on the way is in the result, beside a summary that accounts for every row', async ({
    sandbox,
  }) => {
    const request = aRequest(sandbox);
    const service = { ...request.service, token: 'another-token' };
    const { summary, exit, failure } = await runImport({ ...request, service }).result();
    expect(failure).toMatchObject({ name: 'AuthError', code: 'unauthorised', status: 401 });
    expect(exit).toBe(4);
    expect(summary).toMatchObject({ status: 'stopped', rows: { read: 3, submitted: 0, unsent: 3 } });
  });

  test('neither token nor metadata get into the state', async ({ sandbox }) => {
    const request = aRequest(sandbox, 3, { rules: { set: [['secret_key', 'secret-value']] } });
    await runImport(request).result();
    const folder = join(request.cwd, '.state');
    const files = readdirSync(folder).filter((name) => name.includes('.db'));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const bytes = readFileSync(join(folder, file));
      for (const text of [sandbox.token, 'secret-value', 'Company 3'])
        expect(bytes.includes(text)).toBe(false);
    }
  });

  test('leaves no connection open', async ({ sandbox }) => {
    const { url: baseUrl, server } = await httpServer((_, response) => response.writeHead(401).end());
    const service = { baseUrl, token: 't' };
    let served = 0;
    server.on('connection', () => served++);
    await runImport(aRequest(sandbox, 1, { service })).result();
    expect(served).toBe(1);
    const open = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
    await vi.waitFor(async () => expect(await open()).toBe(0));
  });

  test('prints nothing', async ({ sandbox }) => {
    const outputs = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
    const request = aRequest(sandbox, 3, { invalid: 'any' });
    writeFileSync(join(request.cwd, 'companies.csv'), 'company_id,name\n1,A\n,B\n');
    const { summary } = await runImport(request).result();
    const calls = outputs.map((output) => output.mock.calls.length);
    for (const output of outputs) output.mockRestore();
    expect(summary.status).toBe('partial');
    expect(calls).toEqual([0, 0]);
  });

  test('two at a time are two imports, unless they are of one account and kind', async ({
    sandbox,
    start,
  }) => {
    const other = await start();
    const request = aRequest(sandbox);
    const elsewhere = { ...request, service: { baseUrl: other.url, token: other.token } };
    const first = runImport(request);
    const events = first[Symbol.asyncIterator]();
    await events.next();
    await expect(runImport(request).result()).rejects.toThrow(LockedError);
    expect((await runImport(elsewhere).result()).summary.status).toBe('completed');
    expect((await first.result()).summary.status).toBe('completed');
  });
});

describe('started in the same moment on one state', () => {
  const records = (id: string): Record<string, string>[] =>
    Array.from({ length: 40 }, (_, at) => ({ [id]: `${at}`, name: 'N' }));
  const request = (sandbox: Sandbox, kind: 'companies' | 'users', cwd: string): ImportRequest => {
    const { files: _, ...rest } = aRequest(sandbox, 1, { cwd, kind, chunkSize: 4 });
    return { ...rest, records: records(kind === 'users' ? 'user_id' : 'company_id') };
  };

  test('imports of two kinds complete, and so does a plan', async ({ sandbox }) => {
    const cwd = scratch();
    const [companies, users] = (['companies', 'users'] as const).map((kind) => request(sandbox, kind, cwd));
    const ended = await Promise.all([
      runImport(companies!).result(),
      runImport(users!).result(),
      planImport({ ...users!, records: records('user_id') }),
    ]);
    const [first, second] = ended;
    expect([first, second].map(({ summary }) => summary.status)).toEqual(['completed', 'completed']);
    expect(ended[2].plan).toMatchObject({ requests: 10 });
  });

  test('of two of one kind, one is refused, or waits', async ({ sandbox }) => {
    const cwd = scratch();
    const two = (): ImportRequest[] => [request(sandbox, 'users', cwd), request(sandbox, 'users', cwd)];
    const ended = await Promise.allSettled(two().map((each) => runImport(each).result()));
    const refused = ended.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused.map(({ reason }) => reason.constructor)).toEqual([LockedError]);
    const waited = two().map((each) => runImport({ ...each, waitForLockMs: 60_000 }).result());
    for (const { summary } of await Promise.all(waited)) expect(summary.status).toBe('completed');
  });
});

test('a warning has its cause as data, and names no flag', async ({ sandbox }) => {
  const request = aRequest(sandbox);
  writeFileSync(join(request.cwd, 'companies.csv'), 'company_id,price\n1,1.90\n2,2.25\n');
  const run = runImport(request);
  const warnings: ImportEvent[] = [];
  for await (const event of run) if (event.type === 'warning') warnings.push(event);
  const message = 'companies.csv: price: trailing zeros are dropped: line 2: "1.90" becomes 1.9';
  expect(warnings).toEqual([{ type: 'warning', message, problem: { code: 'digits_lost', column: 'price' } }]);
  expect((await run.result()).summary.warnings).toEqual([message]);
});

describe('stopping', () => {
  test('a signal lets the request in flight finish, and the same request with resume goes on', async ({
    sandbox,
  }) => {
    const stop = new AbortController();
    const request = aRequest(sandbox, 30, { chunkSize: 10, signal: stop.signal });
    const run = runImport(request);
    for await (const event of run) if (event.type === 'submitted') stop.abort();
    const { summary, exit } = await run.result();
    expect(exit).toBe(130);
    expect(summary).toMatchObject({ status: 'interrupted', rows: { read: 30, submitted: 10, unsent: 20 } });
    expect(summary.resume).toBe(summary.run);

    const { signal: _, ...rest } = request;
    const second = await runImport({ ...rest, resume: true }).result();
    expect(second.summary).toMatchObject({
      run: summary.run,
      status: 'completed',
      requests: 3,
      rows: { read: 30, submitted: 30, completed: 30 },
      maybe_sent_twice: [],
    });
    expect(submissions(sandbox)).toBe(3);
  });

  test('leaving the loop stops it likewise; there is then no result', async ({ sandbox }) => {
    const request = aRequest(sandbox, 30, { chunkSize: 10 });
    const run = runImport(request);
    for await (const event of run) if (event.type === 'submitted') break;
    await expect(run.result()).rejects.toThrow(/ended early/);
    expect(submissions(sandbox)).toBe(1);

    const { summary } = await runImport({ ...request, resume: true }).result();
    expect(summary).toMatchObject({ status: 'completed', rows: { submitted: 30 }, maybe_sent_twice: [] });
    expect(submissions(sandbox)).toBe(3);
  });

  test('leaving the loop while it plans ends the reading', async ({ sandbox }) => {
    const request = aRequest(sandbox, 50_000);
    for await (const event of runImport(request)) if (event.type === 'progress') break;
    // Nothing is left that reads, and nothing holds the account: the same can be begun again.
    expect(process.getActiveResourcesInfo().filter((name) => name === 'FSReqPromise')).toEqual([]);
    expect((await runImport(request).result()).summary).toMatchObject({ rows: { submitted: 50_000 } });
  });

  test('a rejects file that cannot be removed does not hold the account', async ({ sandbox }) => {
    const request = aRequest(sandbox, 3, { invalid: 'any' });
    appendFileSync(join(request.cwd, 'companies.csv'), ',Nobody\n');
    const leave = async (): Promise<void> => {
      for await (const { type } of runImport(request)) {
        if (type !== 'plan') continue;
        const [part] = readdirSync(request.cwd).filter((name) => name.endsWith('.part'));
        rmSync(join(request.cwd, part!));
        mkdirSync(join(request.cwd, part!));
        return;
      }
    };
    await expect(leave()).rejects.toThrow(/directory/);
    const { summary } = await runImport(request).result();
    expect(summary).toMatchObject({ status: 'partial', rows: { submitted: 3, rejected: 1 } });
  });

  test('leaving the loop while it downloads closes the connection', async ({ sandbox }) => {
    let isClosed = false;
    // It never ends what it sends.
    const { url } = await httpServer((_, response) => {
      response.once('close', () => {
        isClosed = true;
      });
      response.writeHead(200, { 'content-length': 1_000_000 }).write('company_id\n');
    });
    const files = [`${url}/slow.csv`];
    for await (const event of runImport(aRequest(sandbox, 1, { files }))) {
      if (event.type === 'progress') break;
    }
    await vi.waitFor(() => expect(isClosed).toBe(true));
  });

  test('abort ends a request that hangs, and the report names it', async ({ start }) => {
    const sandbox = await start({ faults: ['hang:first=1'] });
    const abort = new AbortController();
    // Both: what ends requests ends the rest too.
    const request = aRequest(sandbox, 3, { abort: abort.signal, signal: new AbortController().signal });
    const ended = runImport(request).result();
    await vi.waitFor(() => expect(sandbox.ledger()).toHaveLength(1));
    abort.abort();
    expect((await ended).summary).toMatchObject({ status: 'interrupted', rows: { unknown: 3 } });
    const { summary } = await runImport({
      ...request,
      abort: new AbortController().signal,
      resume: true,
    }).result();
    expect(summary).toMatchObject({ status: 'completed', maybe_sent_twice: [{ rows: 3 }] });
  });
});

describe('planImport', () => {
  test('needs neither service nor state, and keeps nothing', async () => {
    const cwd = scratch();
    mkdirSync(join(cwd, 'tmp'));
    writeFileSync(join(cwd, 'users.csv'), 'user_id,zip\nu1,02139\n,10115\n');
    vi.stubEnv('TMPDIR', join(cwd, 'tmp'));
    onTestFinished(() => void vi.unstubAllEnvs());
    const { plan, summary, valid } = await planImport({ files: ['users.csv'], cwd });
    expect(valid).toBe(false);
    expect(plan).toMatchObject({ requests: 1, estimated_seconds: null });
    expect(plan.files[0]?.columns.map(({ column, type }) => [column, type])).toContainEqual([
      'zip',
      'string',
    ]);
    expect(summary).toMatchObject({
      status: 'planned',
      run: null,
      rows: { read: 2, filtered: 0, rejected: 1, unsent: 1 },
    });
    expect(summary.rejected).toEqual([{ file: 'users.csv', line: 3, reason: expect.any(String) }]);
    expect(existsSync(join(cwd, 'users.rejects.csv'))).toBe(true);
    expect(readdirSync(join(cwd, 'tmp'))).toEqual([]);
  });

  test('asks the service about properties, if there is one', async ({ sandbox }) => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'users.csv'), 'user_id,plan\nu1,pro\n');
    const request = { files: ['users.csv'], cwd, checkProperties: true };
    const service = { baseUrl: sandbox.url, lookupBaseUrl: sandbox.lookupUrl, token: sandbox.token };
    const { plan } = await planImport({ ...request, service });
    expect(plan.properties?.new).toEqual(['plan']);
    expect(submissions(sandbox)).toBe(0);
  });

  test('knows of past imports where it is told of their state', async ({ sandbox }) => {
    const request = aRequest(sandbox);
    await runImport(request).result();
    const { plan, summary } = await planImport({ ...request, changedOnly: true });
    expect(summary.rows).toMatchObject({ unchanged: 3 });
    expect(plan.estimated_seconds).not.toBeNull();
  });

  test('estimates the time of the rows to send, not of all rows', async ({ start }) => {
    const request = { ...aRequest(await start({ limits: { rowsPerSecond: 20 } }), 2_000), changedOnly: true };
    await runImport(request).result();
    const file = join(request.cwd, 'companies.csv');
    writeFileSync(file, readFileSync(file, 'utf8').replace(',Company 7\n', ',Company Seven\n'));
    const seconds = async () => (await planImport(request)).plan.estimated_seconds!;
    const ofOne = await seconds();
    const ofAll = (await planImport({ ...request, changedOnly: false })).plan.estimated_seconds!;
    expect(ofAll).toBeGreaterThan(0.3);
    expect(ofOne).toBeLessThan(ofAll / 10);
    const events = runImport(request);
    for await (const event of events) {
      if (event.type === 'plan') expect(event.plan.estimated_seconds).toBe(ofOne);
    }
    expect(await seconds()).toBe(0);
  });

  test('counts what was completed longer ago as unknown, where it is asked to', async ({ sandbox }) => {
    const request = { ...aRequest(sandbox), changedOnly: true };
    await runImport(request).result();
    await expect
      .poll(async () => (await planImport({ ...request, refreshAfterMs: 1 })).summary.rows)
      .toMatchObject({
        unchanged: 0,
        unsent: 3,
      });
    const { summary } = await planImport({ ...request, refreshAfterMs: 3_600_000 });
    expect(summary.rows).toMatchObject({ unchanged: 3 });
  });
});
