/** The view of companies or users: a table with search. */
import { useEffect, useRef } from 'preact/hooks';
import type { ProfileList } from '../wire.js';
import { useLive } from './data.js';
import { count, plural } from './format.js';
import {
  Command,
  Data,
  Empty,
  Heading,
  importLines,
  Link,
  PAGE_SIZE,
  Pager,
  Table,
  Time,
  useShell,
} from './parts.js';
import { type Route, withQuery } from './route.js';

type Here = Route & { view: 'profiles' };

const NOUNS = { companies: ['company', 'companies'], users: ['user', 'users'] } as const;
const SORTS = [
  ['-updated', 'Newest first'],
  ['updated', 'Oldest first'],
  ['id', 'Identifier, A to Z'],
  ['-id', 'Identifier, Z to A'],
] as const;

export function Profiles({ route }: { route: Here }) {
  const { overview, go, announce } = useShell();
  const { kind, region, search, sort, page } = route;
  const [one, many] = NOUNS[kind];
  const path = withQuery('profiles', {
    kind,
    region,
    search,
    sort,
    offset: (page - 1) * PAGE_SIZE,
    limit: PAGE_SIZE,
  });
  const { data, error, stale } = useLive<ProfileList>(
    path,
    overview && `${overview.revisions.profiles} ${overview.up_to_date}`,
  );
  const found = data?.kind === kind ? data : undefined;
  const box = useRef<HTMLInputElement>(null);

  useEffect(() => {
    if (found === undefined || stale) return;
    performance.mark('profiles-shown', { detail: { search, found: found.found } });
    if (search !== '') announce(`${plural(found.found, one, many)} found`);
  }, [stale, search, found === undefined]);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const typing = (event.target as Element).closest('input, textarea, select, [contenteditable]');
      if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      box.current?.focus();
      box.current?.select();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);

  const change = (part: Partial<Here>, replace = false): void => go({ ...route, page: 1, ...part }, replace);
  return (
    <>
      <div class="head">
        <Heading title={many}>{many === 'users' ? 'Users' : 'Companies'}</Heading>
        <p class="sum" data-testid="sum">
          {found &&
            (search === ''
              ? plural(found.total, one, many)
              : `${count(found.found)} of ${plural(found.total, one, many)}`)}
        </p>
      </div>
      <search class="tools">
        <label class="grow">
          <span class="label">
            Search <kbd>/</kbd>
          </span>
          <input
            ref={box}
            type="search"
            value={search}
            placeholder="identifier, company or any value"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => change({ search: event.currentTarget.value }, true)}
          />
        </label>
        <label>
          <span class="label">Region</span>
          <select
            value={region}
            onChange={(event) => change({ region: event.currentTarget.value === 'eu' ? 'eu' : 'default' })}
          >
            <option value="default">default ({count(overview?.profiles.default[kind] ?? 0)})</option>
            <option value="eu">eu ({count(overview?.profiles.eu[kind] ?? 0)})</option>
          </select>
        </label>
        <label>
          <span class="label">Order</span>
          <select value={sort} onChange={(event) => change({ sort: event.currentTarget.value })}>
            {SORTS.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </search>
      {error && <p class="problem">{error.message}</p>}
      {found === undefined && !error && <p class="quiet">Reading {many}…</p>}
      {found !== undefined && found.total === 0 && <Nothing route={route} />}
      {found !== undefined && found.total > 0 && found.found === 0 && (
        <Empty title={`No ${one} matches this search`}>
          <p>The search looks at identifiers, companies and values, whatever their case.</p>
          <button type="button" onClick={() => change({ search: '' })}>
            Clear the search
          </button>
        </Empty>
      )}
      {found !== undefined && found.profiles.length > 0 && (
        <Table
          class={`profiles${stale ? ' stale' : ''}`}
          caption={many === 'users' ? 'Users' : 'Companies'}
          head={[
            'Identifier',
            kind === 'users' && 'Company',
            ['Metadata', 'wide'],
            ['Upserts', 'number'],
            'Updated',
          ]}
        >
          {found.profiles.map((profile) => (
            <tr key={profile.id}>
              <th scope="row">
                <Link to={{ view: 'profile', kind, region, id: profile.id }}>
                  <Data text={profile.id} most={120} />
                </Link>
              </th>
              {kind === 'users' && (
                <td>
                  {profile.company_id !== null && (
                    <Link to={{ view: 'profile', kind: 'companies', region, id: profile.company_id }}>
                      <Data text={profile.company_id} most={80} />
                    </Link>
                  )}
                </td>
              )}
              <td class="wide preview">
                <Data text={profile.preview} />
              </td>
              <td class="number">{count(profile.upserts)}</td>
              <td class="when">
                <Time iso={profile.updated_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {found && <Pager page={page} found={found.found} to={(to) => ({ ...route, page: to })} />}
    </>
  );
}

function Nothing({ route: { kind, region } }: { route: Here }) {
  const { overview } = useShell();
  const other = region === 'eu' ? 'default' : 'eu';
  const there = overview?.profiles[other][kind] ?? 0;
  const waiting = overview !== undefined && overview.jobs.unfinished > 0;
  return (
    <Empty title={`No ${kind} in this region yet`}>
      {waiting && <p>A job is under way: its rows appear here when it has completed.</p>}
      {there > 0 && (
        <p>
          Region {other} has {count(there)}.
        </p>
      )}
      <p>Import a file, in another terminal:</p>
      <Command lines={importLines(overview, `${kind}.csv`)} />
    </Empty>
  );
}
