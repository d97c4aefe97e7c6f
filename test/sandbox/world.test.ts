import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { StateError } from '../../src/engine/errors.js';
import { readItems } from '../../src/sandbox/body.js';
import { openDatabase } from '../../src/sandbox/database.js';
import { DEFAULT_LOOKUPS } from '../../src/sandbox/lookups.js';
import type { SimulatedOutcome } from '../../src/sandbox/timeline.js';
import type { Kind, Region } from '../../src/sandbox/types.js';
import { World } from '../../src/sandbox/world.js';
import { ManualClock } from '../support/sandbox.js';

const folder = (): string => mkdtempSync(join(tmpdir(), 'profiles-test-'));

/** A world of its own, with a submit that is easy to say. */
function makeWorld(dataDir: string | null = null, clock = new ManualClock()) {
  const world = new World(openDatabase(dataDir), clock, DEFAULT_LOOKUPS, () => 'http://x');
  onTestFinished(() => world.close());
  const submit = (
    kind: Kind,
    items: object[],
    {
      region = 'default' as Region,
      outcome = { type: 'completed' } as SimulatedOutcome,
      rowsPerSecond = 2_000,
      oneAtATime = false,
    } = {},
  ) => {
    const json = JSON.stringify({ [kind]: items });
    const reading = readItems(kind, 'bulk', Buffer.from(json));
    if ('problems' in reading) throw new Error('the test sent nonsense');
    const rules = { rowsPerSecond, oneAtATime, outcome: () => outcome };
    return world.accept({ region, kind, bytes: 10, sha256: json, ...reading }, rules);
  };
  const company = (id: string, metadata: object, region: Region = 'default') => {
    const items = [{ id, companyId: null, metadata: JSON.stringify(metadata) }];
    world.accept({ region, kind: 'companies', bytes: 10, sha256: id, items, properties: {} });
  };
  const idOf = (job: ReturnType<World['accept']>): string => (job === 'busy' ? 'busy' : job.job_id);
  return { world, clock, submit, company, idOf };
}

describe('a clock that is set back', () => {
  it.each([
    ['while a job runs', 100],
    ['after it has ended', 10_000],
  ])('%s: the job ends, and what is accepted later takes effect later', async (_, passed) => {
    const { world, clock, submit, company, idOf } = makeWorld(folder());
    const profiles = async () => (await world.profiles({ kind: 'companies', region: 'default' })).rows;
    const id = idOf(submit('companies', [{ company_id: 'a', metadata: { plan: 'old' } }]));
    clock.advance(passed);
    await profiles();
    clock.advance(-86_400_000);
    company('a', { plan: 'new' });
    expect(world.job(id)?.record).toMatchObject({ status: 'completed', completed_rows: 1 });
    expect(world.profile('companies', 'a', 'default')?.metadata).toEqual({ plan: 'new' });
    expect(await profiles()).toMatchObject([{ id: 'a', metadata: '{"plan":"new"}' }]);
    expect(world.jobCounts()).toMatchObject({ unfinished: 0 });
  });

  it('a first look at the job sees it completed', () => {
    const { world, clock, submit, idOf } = makeWorld(folder());
    const id = idOf(submit('companies', [{ company_id: 'a' }]));
    clock.advance(-86_400_000);
    expect(world.job(id)?.record).toMatchObject({ status: 'completed' });
  });

  it('by less than a second changes nothing', () => {
    const { world, clock, submit, idOf } = makeWorld(folder());
    const id = idOf(submit('companies', [{ company_id: 'a' }]));
    clock.advance(-999);
    expect(world.job(id)?.record).toMatchObject({ status: 'queued' });
  });
});

describe('profiles', () => {
  it('exist only after their job has completed', () => {
    const { world, clock, submit } = makeWorld();
    submit('companies', [{ company_id: '00042', metadata: { name: 'A' } }]);
    clock.advance(299);
    expect(world.profile('companies', '00042', 'default')).toBeUndefined();
    expect(world.pending('companies', '00042', 'default')).toBe(true);
    clock.advance(1);
    expect(world.profile('companies', '00042', 'default')?.metadata).toEqual({ name: 'A' });
    expect(world.pending('companies', '00042', 'default')).toBe(false);
    expect(world.profile('companies', '42', 'default')).toBeUndefined();
    expect(world.profile('users', '00042', 'default')).toBeUndefined();
  });

  it('are kept apart by region', () => {
    const { world, clock, submit, company } = makeWorld();
    submit('users', [{ user_id: 'u', company_id: 'c' }], { region: 'eu' });
    company('c', { name: 'A' }, 'eu');
    clock.advance(300);
    expect(world.profile('users', 'u', 'eu')?.json).toBe('{"user_id":"u","company_id":"c","metadata":{}}');
    expect(world.profile('users', 'u', 'default')).toBeUndefined();
    expect(world.profile('companies', 'c', 'default')).toBeUndefined();
  });

  it('take the upserts in the order in which jobs complete, not in which they were accepted', () => {
    const { world, clock, submit } = makeWorld();
    submit('users', [{ user_id: 'u', metadata: { from: 'slow', slow: 1 } }], { rowsPerSecond: 1 });
    submit('users', [{ user_id: 'u', metadata: { from: 'fast', fast: 1 } }]);
    clock.advance(500);
    expect(world.profile('users', 'u', 'default')?.metadata).toEqual({ from: 'fast', fast: 1 });
    clock.advance(500);
    expect(world.profile('users', 'u', 'default')?.metadata).toEqual({ from: 'slow', slow: 1, fast: 1 });
  });

  it('merge equal ids of one request in order', () => {
    const { world, clock, submit } = makeWorld();
    submit('users', [
      { user_id: 'u', metadata: { a: 1, b: 1 } },
      { user_id: 'u', metadata: { a: 2, b: null } },
    ]);
    clock.advance(300);
    expect(world.profile('users', 'u', 'default')?.json).toBe('{"user_id":"u","metadata":{"a":2}}');
  });

  it('are not touched by a failed or stuck job, nor by the rows that a short one lost', () => {
    const { world, clock, submit } = makeWorld();
    const both = [{ user_id: 'a' }, { user_id: 'b' }];
    submit('users', both, { outcome: { type: 'failed' }, region: 'eu' });
    submit('users', both, { outcome: { type: 'stuck', status: 'queued' }, region: 'eu' });
    submit('users', both, { outcome: { type: 'short', rows: 1 } });
    clock.advance(10_000);
    const held = (id: string, region: Region): boolean => world.profile('users', id, region) !== undefined;
    expect([held('a', 'eu'), held('a', 'default'), held('b', 'default')]).toEqual([false, true, false]);
  });

  it.each(['', ' ', 'a\u0000b', '../x', '😀', "'; DROP TABLE entry; --", 'x'.repeat(10_000)])(
    'any identifier: %j',
    (tail) => {
      const { world, clock, submit } = makeWorld();
      const id = `id${tail}`;
      submit('users', [{ user_id: id, metadata: { [id]: id } }]);
      clock.advance(300);
      expect(world.profile('users', id, 'default')?.metadata).toEqual({ [id]: id });
    },
  );
});

describe('jobs', () => {
  it('have every field of the record', () => {
    const { world, clock, submit, idOf } = makeWorld();
    const job = submit('companies', [{ company_id: 'c' }]);
    const job_id = idOf(job);
    expect(job_id).toMatch(/^urn:profiles:job:default\/[0-9a-f]{8}-1$/);
    const links = `http://x/v1/background_jobs/${encodeURIComponent(job_id)}`;
    const record = {
      job_id,
      type: 'companies_bulk_identify',
      filename: 'companies-20260102T030405Z-1.json',
      file_size: 10,
      total_rows: 1,
      start_time: '2026-01-02T03:04:05.000Z',
      links,
    };
    const start = { completed_rows: 0, elapsed_time: 0, end_time: null };
    expect(job).toEqual({ ...record, ...start, status: 'queued' });
    clock.advance(5_000);
    expect(world.job(job_id)?.record).toEqual({
      ...record,
      status: 'completed',
      completed_rows: 1,
      elapsed_time: 0.3,
      end_time: '2026-01-02T03:04:05.300Z',
    });
  });

  it('are not known under an id of another region, sandbox or form', () => {
    const { world, submit, company, idOf } = makeWorld();
    const id = idOf(submit('companies', [{ company_id: 'c' }]));
    company('c', {});
    const other = makeWorld();
    other.submit('companies', [{ company_id: 'c' }]);
    const asked = [
      id.replace('default', 'eu'),
      id.replace(/1$/, '01'),
      id.replace(/1$/, '3'),
      id.replace(/1$/, ''),
      id.toUpperCase(),
      '',
    ];
    expect(asked.map((one) => world.job(one)?.record)).toEqual(asked.map(() => undefined));
    expect(other.world.job(id)?.record).toBeUndefined();
    // The single upsert of a company is accepted work too, but no job.
    expect(world.job(id.replace(/1$/, '2'))?.record).toBeUndefined();
  });

  it('run one at a time on request: over both kinds, but for each region separately', () => {
    const { clock, submit, company, idOf } = makeWorld();
    const one = { oneAtATime: true };
    submit('companies', [{ company_id: 'c' }], one);
    expect(submit('users', [{ user_id: 'u' }], one)).toBe('busy');
    expect(submit('users', [{ user_id: 'u' }], { ...one, region: 'eu' })).not.toBe('busy');
    company('c', {});
    clock.advance(300);
    expect(
      idOf(submit('users', [{ user_id: 'u' }], { ...one, outcome: { type: 'stuck', status: 'queued' } })),
    ).toMatch(/-4$/);
    clock.advance(1e9);
    expect(submit('users', [{ user_id: 'u' }], one)).toBe('busy');
  });
});

describe('lookups', () => {
  it('list the keys of completed user imports in both regions', () => {
    const { world, clock, submit } = makeWorld();
    const imported = () =>
      (world.lookup('user_properties') as { key: string; data_type: string; is_auto_property: boolean }[])
        .filter((property) => !property.is_auto_property)
        .map(({ key, data_type }) => `${key}:${data_type}`);
    submit('users', [{ user_id: 'u', metadata: { plan: 'a', age: 3 } }]);
    submit('users', [{ user_id: 'u', metadata: { age: 3.5, vip: true } }], { region: 'eu' });
    submit('users', [{ user_id: 'u', metadata: { lost: 1 } }], { outcome: { type: 'failed' } });
    submit('companies', [{ company_id: 'c', metadata: { industry: 'x' } }]);
    expect(imported()).toEqual([]);
    clock.advance(300);
    expect(imported()).toEqual(['plan:string', 'age:number', 'vip:boolean']);
  });

  it('keep their ids when a job completes that was accepted earlier', () => {
    const { world, clock, submit } = makeWorld();
    const idOfFast = () =>
      (world.lookup('user_properties') as { key: string; id: number }[]).find(({ key }) => key === 'fast')
        ?.id;
    submit('users', [{ user_id: 'u', metadata: { slow: 1 } }], { rowsPerSecond: 1 });
    submit('users', [{ user_id: 'u', metadata: { fast: 1 } }]);
    clock.advance(300);
    const id = idOfFast();
    expect(id).toBeGreaterThan(0);
    clock.advance(1_000);
    expect(idOfFast()).toBe(id);
  });

  it('have banners, cards and checklists', () => {
    const { world } = makeWorld();
    const types = (world.lookup('embeds') as { type: string }[]).map((embed) => embed.type);
    expect([...new Set(types)].sort()).toEqual(['banner', 'card']);
    expect(world.lookup('checklists')).toBe(DEFAULT_LOOKUPS.checklists);
  });
});

describe('data', () => {
  it('are private, and exist after a restart with continued ids', () => {
    const dir = join(folder(), 'made');
    const clock = new ManualClock();
    const before = makeWorld(dir, clock);
    const id = before.idOf(before.submit('users', [{ user_id: 'u', metadata: { a: 1 } }]));
    before.world.close();
    clock.advance(300);
    const after = makeWorld(dir, clock);
    expect(after.world.profile('users', 'u', 'default')?.metadata).toEqual({ a: 1 });
    expect(after.world.job(id)?.record?.status).toBe('completed');
    expect(after.idOf(after.submit('users', [{ user_id: 'v' }]))).toBe(id.replace(/-1$/, '-2'));
    const mode = (path: string): number => statSync(path).mode & 0o777;
    expect(mode(dir)).toBe(0o700);
    for (const file of ['sandbox.db', 'sandbox.db-wal', 'sandbox.db-shm'])
      expect(mode(join(dir, file))).toBe(0o600);
  });

  it('are erased by a reset, from the file too; ids are not given twice', () => {
    const dir = folder();
    const { world, clock, submit, company, idOf } = makeWorld(dir);
    const id = idOf(submit('users', [{ user_id: 'u', metadata: { note: 'remember-me' } }, { user_id: 'v' }]));
    submit('users', [{ user_id: 'u' }], { region: 'eu' });
    company('c', {});
    expect(world.reset()).toEqual({ companies: 1, users: 3, jobs: 2 });
    clock.advance(300);
    expect(world.profile('users', 'u', 'default')).toBeUndefined();
    expect(world.job(id)?.record).toBeUndefined();
    expect(world.reset()).toEqual({ companies: 0, users: 0, jobs: 0 });
    expect(idOf(submit('users', [{ user_id: 'u' }]))).toMatch(/-4$/);
    for (const file of ['sandbox.db', 'sandbox.db-wal'])
      expect(readFileSync(join(dir, file)).includes('remember-me')).toBe(false);
  });

  it('do not grow or change when the same request is sent again and again', () => {
    const dir = folder();
    const { world, clock, submit } = makeWorld(dir);
    const items = Array.from({ length: 50 }, (_, i) => ({
      user_id: `u-${i}`,
      metadata: { a: 'x', gone: null },
    }));
    const between = [{ user_id: 'u-1', metadata: { a: 'y', b: 'z' } }];
    for (let i = 0; i < 20; i++) {
      submit('users', items);
      clock.advance(300);
      if (i === 10) submit('users', between);
      clock.advance(300);
    }
    expect(world.profile('users', 'u-1', 'default')?.metadata).toEqual({ a: 'x', b: 'z' });
    const db = new DatabaseSync(join(dir, 'sandbox.db'));
    const { n } = db.prepare('SELECT count(*) AS n FROM entry').get() as { n: number };
    db.close();
    expect(n).toBeLessThanOrEqual(3 * items.length + 1);
  });

  it('keep the newest of repeated requests, which may have replaced what was sent in between', () => {
    const { world, clock, submit } = makeWorld();
    const [a, b] = ['a', 'b'].map((tier) => [{ user_id: 'u', metadata: { tier } }]) as [object[], object[]];
    for (const items of [a, b, a]) {
      submit('users', items);
      clock.advance(300);
    }
    submit('users', a, { rowsPerSecond: 0.001 });
    expect(world.profile('users', 'u', 'default')?.metadata).toEqual({ tier: 'a' });
  });

  it('keep what a repeated request needs while its repetition has not completed', () => {
    const { world, clock, submit } = makeWorld();
    const items = [{ user_id: 'u', metadata: { a: 1 } }];
    for (let i = 0; i < 3; i++) {
      submit('users', items);
      clock.advance(300);
    }
    submit('users', items, { rowsPerSecond: 0.001 });
    submit('users', items, { rowsPerSecond: 0.001 });
    expect(world.profile('users', 'u', 'default')?.metadata).toEqual({ a: 1 });
  });

  it('of another version, or no database at all, are refused with the hint', () => {
    const other = folder();
    openDatabase(other).close();
    const db = new DatabaseSync(join(other, 'sandbox.db'));
    db.exec('PRAGMA user_version = 99');
    db.close();
    const broken = folder();
    writeFileSync(join(broken, 'sandbox.db'), 'no database '.repeat(100), { mode: 0o600 });
    for (const dir of [other, broken, join(broken, 'sandbox.db')]) {
      expect(() => openDatabase(dir)).toThrow(StateError);
      expect(() => openDatabase(dir)).toThrow(/sandbox\.db/);
    }
  });
});
