/** The list of profiles: what is in it, and in which order. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/sandbox/database.js';
import { DEFAULT_LOOKUPS } from '../../src/sandbox/lookups.js';
import type { ProfilePage, ProfileQuery } from '../../src/sandbox/profile-index.js';
import type { SimulatedOutcome } from '../../src/sandbox/timeline.js';
import type { Kind, Region } from '../../src/sandbox/types.js';
import { World } from '../../src/sandbox/world.js';

/** A world whose clock says what the test sets. */
class TimedWorld extends World {
  readonly time: { at: number };

  constructor(dir: string | null = null) {
    const time = { at: 0 };
    super(openDatabase(dir), { now: () => time.at }, DEFAULT_LOOKUPS);
    this.time = time;
    onTestFinished(() => this.close());
  }
}

type Row = [id: string, metadata: object | string | null, companyId?: string];

/** Accepts a request at a time. Its job takes 300 ms. */
function accept(
  world: TimedWorld,
  at: number,
  rows: Row[],
  {
    kind = 'companies',
    region = 'default',
    outcome = { type: 'completed' },
  }: { kind?: Kind; region?: Region; outcome?: SimulatedOutcome } = {},
): void {
  const items = rows.map(([id, metadata, companyId = null]) => ({
    id,
    companyId,
    metadata: typeof metadata === 'object' && metadata !== null ? JSON.stringify(metadata) : metadata,
  }));
  world.time.at = at;
  const rules = { rowsPerSecond: 2_000, oneAtATime: false, outcome: () => outcome };
  const sha256 = `${at} ${rows.length}`;
  world.accept({ region, kind, bytes: 1, sha256, items, properties: {} }, rules);
}

const list = (world: TimedWorld, query: Partial<ProfileQuery> = {}, now = 1e9): Promise<ProfilePage> => {
  world.time.at = now;
  return world.profiles({ kind: 'companies', region: 'default', ...query }, true);
};
const ids = async (world: TimedWorld, query: Partial<ProfileQuery> = {}): Promise<string[]> =>
  (await list(world, query)).rows.map(({ id }) => id);

describe('what is in it', () => {
  it('has each profile as a single look-up returns it: merged, without removed keys, numbers as sent', async () => {
    const world = new TimedWorld();
    accept(world, 1_000, [
      ['a', '{"n":1.10,"plan":"free","gone":1}', 'x'],
      ['b', null],
    ]);
    accept(world, 2_000, [
      ['a', '{"plan":"pro","gone":null}'],
      ['a', '{"later":true}', 'y'],
    ]);
    expect((await list(world)).rows).toEqual([
      {
        id: 'a',
        companyId: 'y',
        metadata: '{"n":1.10,"plan":"pro","later":true}',
        createdAt: 1_300,
        updatedAt: 2_300,
        upserts: 3,
      },
      { id: 'b', companyId: null, metadata: '{}', createdAt: 1_300, updatedAt: 1_300, upserts: 1 },
    ]);
  });

  it('is of one kind and region, and of jobs that have completed', async () => {
    const world = new TimedWorld();
    accept(world, 1_000, [['a', {}]]);
    accept(world, 1_000, [['u', {}]], { kind: 'users' });
    accept(world, 1_000, [['e', {}]], { region: 'eu' });
    accept(world, 1_000, [['f', {}]], { outcome: { type: 'failed' } });
    accept(world, 3_900, [['late', {}]]);
    expect(await list(world, {}, 4_000)).toMatchObject({ total: 1, rows: [{ id: 'a' }] });
    expect(await ids(world, { kind: 'users' })).toEqual(['u']);
    expect(await ids(world, { region: 'eu' })).toEqual(['e']);
    expect(await ids(world)).toEqual(['a', 'late']);
  });

  it('follows what another process wrote, and erased', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'profiles-test-'));
    const [here, there] = [new TimedWorld(dir), new TimedWorld(dir)];
    accept(there, 1_000, [
      ['a', {}],
      ['b', {}],
    ]);
    expect((await list(here)).total).toBe(2);
    there.reset();
    expect((await list(here)).total).toBe(0);
    accept(there, 3_000, [['c', {}]]);
    expect(await ids(here)).toEqual(['c']);
  });

  it('is correct after the clock was set back', async () => {
    const world = new TimedWorld();
    accept(world, 5_000, [['a', { plan: 'later' }]]);
    expect((await list(world)).rows[0]!.metadata).toBe('{"plan":"later"}');
    accept(world, 1_000, [['a', { plan: 'last', more: 1 }]]);
    expect((await list(world)).rows[0]!.metadata).toBe('{"plan":"last","more":1}');
  });
});

describe('search, order and pages', () => {
  const filled = (): TimedWorld => {
    const world = new TimedWorld();
    accept(world, 1_000, [
      ['c-10', { name: 'Zürich Re', employees: 9, city: 'Kraków' }],
      ['c-2', '{"name":"Z\\u00dcRICH","employees":100}'],
      ['c-3', { name: 'say "hi"\n', employees: '7', tags: ['gold'] }, 'holding'],
    ]);
    accept(world, 2_000, [['c-2', { plan: 'pro' }]]);
    return world;
  };

  it.each<[search: string, found: string[]]>([
    ['zürich', ['c-10', 'c-2']],
    ['C-1', ['c-10']],
    ['holding', ['c-3']],
    ['"hi"', ['c-3']],
    ['gold', ['c-3']],
    ['  pro ', ['c-2']],
    ['employees', []], // a key is no value
    ['100', ['c-2']],
    ['%', []],
    ['', ['c-10', 'c-2', 'c-3']],
  ])('%j finds %j', async (search, found) => {
    const world = filled();
    expect(await ids(world, { search })).toEqual(found);
    expect(await list(world, { search, limit: 1 })).toMatchObject({ total: 3, found: found.length });
  });

  it('does not find a value that was overwritten', async () => {
    const world = filled();
    accept(world, 3_000, [['c-2', { plan: 'free' }]]);
    expect(await ids(world, { search: 'pro' })).toEqual([]);
  });

  it.each<[by: string, descending: boolean, order: string[]]>([
    ['id', false, ['c-10', 'c-2', 'c-3']],
    ['id', true, ['c-3', 'c-2', 'c-10']],
    ['updated', true, ['c-2', 'c-10', 'c-3']],
    ['updated', false, ['c-3', 'c-10', 'c-2']],
    ['company_id', false, ['c-3', 'c-10', 'c-2']],
    ['employees', false, ['c-10', 'c-2', 'c-3']], // numbers by size, before texts
    ['employees', true, ['c-3', 'c-2', 'c-10']],
    ['city', true, ['c-10', 'c-2', 'c-3']], // what has none comes last
  ])('by %s, descending %s', async (by, descending, order) => {
    expect(await ids(filled(), { sort: { by, descending } })).toEqual(order);
  });

  it('returns a page', async () => {
    expect(await ids(filled(), { offset: 1, limit: 1 })).toEqual(['c-2']);
    expect(await ids(filled(), { offset: 9, limit: 1 })).toEqual([]);
  });
});
