/** The list of profiles: what is in it, and in which order. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ProfileQuery } from '../../src/sandbox/profile-index.js';
import { openStore, type Store } from '../../src/sandbox/store.js';
import type { SimulatedOutcome } from '../../src/sandbox/timeline.js';
import type { Kind, Region } from '../../src/sandbox/types.js';

function storeIn(dir: string | null = null): Store {
  const store = openStore(dir);
  onTestFinished(() => store.close());
  return store;
}

type Row = [id: string, metadata: object | string | null, companyId?: string];

function accept(
  store: Store,
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
  const submission = {
    bulk: true,
    kind,
    region,
    rows: rows.length,
    bytes: 1,
    sha256: `${at} ${rows.length}`,
    outcome,
  };
  store.transaction(() =>
    store.add({ ...submission, acceptedAt: at, durationMs: 300, properties: {} }, items),
  );
}

const list = (store: Store, query: Partial<ProfileQuery> = {}, now = 1e9) => {
  while (!store.profiles.advance(now, 7)); // in many slices
  return store.profiles.list({ kind: 'companies', region: 'default', ...query });
};
const ids = (store: Store, query: Partial<ProfileQuery> = {}): string[] =>
  list(store, query).rows.map(({ id }) => id);

describe('what is in it', () => {
  it('has each profile as a single look-up returns it: merged, without removed keys, numbers as sent', () => {
    const store = storeIn();
    accept(store, 1_000, [
      ['a', '{"n":1.10,"plan":"free","gone":1}', 'x'],
      ['b', null],
    ]);
    accept(store, 2_000, [
      ['a', '{"plan":"pro","gone":null}'],
      ['a', '{"later":true}', 'y'],
    ]);
    expect(list(store).rows).toEqual([
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

  it('is of one kind and region, and of jobs that have completed', () => {
    const store = storeIn();
    accept(store, 1_000, [['a', {}]]);
    accept(store, 1_000, [['u', {}]], { kind: 'users' });
    accept(store, 1_000, [['e', {}]], { region: 'eu' });
    accept(store, 1_000, [['f', {}]], { outcome: { type: 'failed' } });
    accept(store, 5_000, [['late', {}]]);
    expect(list(store, {}, 4_000)).toMatchObject({ total: 1, rows: [{ id: 'a' }] });
    expect(ids(store, { kind: 'users' })).toEqual(['u']);
    expect(ids(store, { region: 'eu' })).toEqual(['e']);
    expect(ids(store)).toEqual(['a', 'late']);
  });

  it('follows what another process wrote, and erased', () => {
    const dir = mkdtempSync(join(tmpdir(), 'profiles-test-'));
    const [here, there] = [storeIn(dir), storeIn(dir)];
    accept(there, 1_000, [
      ['a', {}],
      ['b', {}],
    ]);
    expect(list(here).total).toBe(2);
    there.clear();
    expect(list(here).total).toBe(0);
    accept(there, 3_000, [['c', {}]]);
    expect(ids(here)).toEqual(['c']);
  });

  it('is correct after the clock was set back', () => {
    const store = storeIn();
    accept(store, 5_000, [['a', { plan: 'later' }]]);
    expect(list(store).rows[0]!.metadata).toBe('{"plan":"later"}');
    accept(store, 1_000, [['a', { plan: 'earlier', more: 1 }]]);
    expect(list(store).rows[0]!.metadata).toBe('{"plan":"later","more":1}');
  });
});

describe('search, order and pages', () => {
  const filled = (): Store => {
    const store = storeIn();
    accept(store, 1_000, [
      ['c-10', { name: 'Zürich Re', employees: 9, city: 'Kraków' }],
      ['c-2', '{"name":"Z\\u00dcRICH","employees":100}'],
      ['c-3', { name: 'say "hi"\n', employees: '7', tags: ['gold'] }, 'holding'],
    ]);
    accept(store, 2_000, [['c-2', { plan: 'pro' }]]);
    return store;
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
  ])('%j finds %j', (search, found) => {
    const store = filled();
    expect(ids(store, { search })).toEqual(found);
    expect(list(store, { search, limit: 1 })).toMatchObject({ total: 3, found: found.length });
  });

  it('does not find a value that was overwritten', () => {
    const store = filled();
    accept(store, 3_000, [['c-2', { plan: 'free' }]]);
    expect(ids(store, { search: 'pro' })).toEqual([]);
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
  ])('by %s, descending %s', (by, descending, order) => {
    expect(ids(filled(), { sort: { by, descending } })).toEqual(order);
  });

  it('returns a page', () => {
    expect(ids(filled(), { offset: 1, limit: 1 })).toEqual(['c-2']);
    expect(ids(filled(), { offset: 9, limit: 1 })).toEqual([]);
  });
});
