/** `records`: objects of a program in place of files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { InterruptedError, planImport, runImport } from '../../../src/engine/index.js';
import { scratch } from '../../support/cli.js';
import { requestTo as request, test } from '../../support/sandbox.js';

const ACME = { company_id: 'c1', name: 'Acme', metadata: { seats: 3 } };

/** Everything that a run left in a folder but the state's own files. */
const left = (cwd: string): string[] =>
  readdirSync(cwd, { recursive: true })
    .map(String)
    .filter((name) => /records/.test(name));

describe('records', () => {
  const sources: [string, () => Iterable<object> | AsyncIterable<object>][] = [
    ['a list', () => [ACME, { company_id: 'c2' }]],
    ['a set', () => new Set([ACME, { company_id: 'c2' }])],
    [
      'a generator',
      () =>
        (function* () {
          yield ACME;
          yield { company_id: 'c2' };
        })(),
    ],
    [
      'an async generator',
      () =>
        (async function* () {
          yield ACME;
          yield { company_id: 'c2' };
        })(),
    ],
    ['a stream of objects', () => Readable.from([ACME, { company_id: 'c2' }])],
    ['a list of promises', () => [Promise.resolve(ACME), Promise.resolve({ company_id: 'c2' })]],
  ];
  test.for(sources)('%s is planned, sent and followed like a file', async ([, of], { sandbox }) => {
    const { cwd, ...given } = request(sandbox, { records: of() });
    const { summary, exit } = await runImport({ ...given, cwd }).result();
    expect(exit).toBe(0);
    expect(summary).toMatchObject({
      status: 'completed',
      rows: { read: 2, submitted: 2, completed: 2 },
      files: [{ path: 'records', kind: 'companies', rows: { read: 2, filtered: 0, rejected: 0 } }],
      jobs: [{ file: 'records', first_line: 1, last_line: 2 }],
    });
    expect(sandbox.show('companies', 'c1')?.metadata).toEqual({ name: 'Acme', seats: 3 });
    // What was spooled goes with the run.
    expect(left(cwd)).toEqual([]);
  });

  test('are numbered from 1, and one that cannot be sent is a rejected row', async ({ sandbox }) => {
    const records = [
      ACME,
      { name: 'x' },
      'text' as unknown as object,
      { company_id: 'c4', name: '\ud83d' },
      { company_id: 'c5', n: 1, metadata: { n: 2 } },
    ];
    const given = request(sandbox, { records });
    const { summary, exit } = await runImport(given).result();
    expect([exit, summary.status]).toEqual([5, 'rejected']);
    expect(summary.rejected).toEqual([
      { file: 'records', line: 2, reason: 'company_id is missing' },
      { file: 'records', line: 3, reason: 'is a text, not an object' },
      { file: 'records', line: 4, reason: 'name: \\ud83d is half of a character; no text can hold it' },
      { file: 'records', line: 5, reason: '"n" appears both beside metadata and inside it' },
    ]);
    expect(summary.files[0]!.rejects_file).toBe('records.rejects.ndjson');
    expect(readFileSync(join(given.cwd, 'records.rejects.ndjson'), 'utf8')).toContain('"_profiles_line":2');
  });

  test('values that JSON has another word for', async ({ sandbox }) => {
    class Account {
      company_id = 'c1';
      #secret = 'hidden';
      get getter(): string {
        return this.#secret;
      }
      since = new Date('2026-01-02T03:04:05Z');
      none = undefined;
      seats = 12n;
      total = 9007199254740993n;
      most = 9007199254740991n;
      nested = { toJSON: () => ({ as: 'told' }) };
      list = [1n, undefined, new Date(0)];
    }
    const { summary } = await runImport(request(sandbox, { records: [new Account()] })).result();
    expect(summary.status).toBe('completed');
    expect(sandbox.show('companies', 'c1')?.metadata).toEqual({
      since: '2026-01-02T03:04:05.000Z',
      seats: 12,
      total: '9007199254740993',
      most: 9007199254740991,
      nested: { as: 'told' },
      list: [1, null, '1970-01-01T00:00:00.000Z'],
    });
  });

  test('no records are a warning', async ({ sandbox }) => {
    const { summary, exit } = await runImport(request(sandbox, { records: [] })).result();
    expect([exit, summary.rows.read, summary.warnings]).toEqual([0, 0, ['records: no rows']]);
  });

  test('are pulled as they are needed, and not before the import begins', async ({ sandbox }) => {
    let pulled = 0;
    let held = 0;
    let most = 0;
    const stateDir = join(scratch(), 'state');
    let spool: string | Buffer | undefined;
    async function* many(): AsyncGenerator<object> {
      for (; pulled < 20_000; pulled++) {
        if (existsSync(stateDir))
          spool ??= readdirSync(stateDir, { recursive: true }).find((name) =>
            String(name).endsWith('records'),
          );
        if (pulled % 1_000 === 0) held = spool ? readFileSync(join(stateDir, String(spool))).length : 0;
        most = Math.max(most, pulled * 60 - held);
        yield { company_id: String(pulled).padStart(8, '0'), name: 'x'.repeat(22) };
        if (pulled % 1_000 !== 0) held += 60;
      }
    }
    const run = runImport(request(sandbox, { records: many(), stateDir }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(pulled).toBe(0);
    const { summary } = await run.result();
    expect(summary.rows).toMatchObject({ read: 20_000, submitted: 20_000 });
    // What was pulled and is not on disk fits the buffer.
    expect(most).toBeLessThan(2 * 64 * 1024);
  });

  test('what they throw is thrown on as it is', async ({ sandbox }) => {
    const failure = new Error('the database went away');
    let closed = false;
    async function* broken(): AsyncGenerator<object> {
      try {
        yield ACME;
        throw failure;
      } finally {
        closed = true;
      }
    }
    const given = request(sandbox, { records: broken() });
    await expect(runImport(given).result()).rejects.toBe(failure);
    expect(closed).toBe(true);
    expect([sandbox.ledger(), left(given.cwd)]).toEqual([[], []]);
  });

  test('a record that does not come does not keep a stop waiting', async ({ sandbox }) => {
    const stop = new AbortController();
    let returned = false;
    const silent: AsyncIterable<object> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          queueMicrotask(() => stop.abort());
          return new Promise(() => {});
        },
        return: () => {
          returned = true;
          return new Promise(() => {});
        },
      }),
    };
    const run = runImport(request(sandbox, { records: silent, signal: stop.signal })).result();
    await expect(run).rejects.toBeInstanceOf(InterruptedError);
    expect(returned).toBe(true);
  });

  test('a list that is left early is closed', async ({ sandbox }) => {
    let closed = false;
    function* endless(): Generator<object> {
      try {
        for (let i = 0; ; i++) yield i === 10 ? { n: Number.NaN } : { company_id: `c${i}` };
      } finally {
        closed = true;
      }
    }
    await expect(runImport(request(sandbox, { records: endless() })).result()).rejects.toThrow('record 11');
    expect(closed).toBe(true);
  });

  test('the same records continue an unfinished run', async ({ start }) => {
    const sandbox = await start({ faults: ['503:nth=2'] });
    const records = [ACME, { company_id: 'c2' }, { company_id: 'c3' }];
    const given = request(sandbox, { records, chunkSize: 1, retries: 0 });
    const first = await runImport(given).result();
    expect(first.summary).toMatchObject({ status: 'stopped', rows: { submitted: 1, unknown: 1, unsent: 1 } });
    const second = await runImport({ ...given, resume: true }).result();
    expect(second.summary).toMatchObject({ run: first.summary.run, rows: { submitted: 3, completed: 3 } });
    expect(left(given.cwd)).toEqual([]);
  });

  test('a plan reads them too, with rules, where and limit', async () => {
    const records = Array.from({ length: 5 }, (_, i) => ({ key: `c${i}`, plan: i % 2 ? 'pro' : 'free' }));
    const { plan, summary } = await planImport({
      records,
      kind: 'companies',
      id: 'key',
      rules: { map: [['plan', 'tier']] },
      where: [['plan', '=', 'free']],
      limit: 2,
      cwd: scratch(),
    });
    expect(summary.rows).toMatchObject({ read: 5, filtered: 3, unsent: 2 });
    expect(plan.files[0]!.sample).toEqual({ company_id: 'c0', metadata: { tier: 'free' } });
  });
});
