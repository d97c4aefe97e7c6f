/** The view of companies or users: a table with search. */
import { useEffect, useRef } from 'preact/hooks';
import type { Kind } from '../../types.js';
import type { ProfileLine, Reply } from './data.js';
import { count, plural } from './format.js';
import { type Column, Data, Empty, ImportLines, Link, Time, useShell } from './parts.js';
import { type Route, to } from './route.js';
import { List } from './views.js';

const NOUNS = { companies: ['company', 'companies'], users: ['user', 'users'] } as const;
export const TITLES = { companies: ['Company', 'Companies'], users: ['User', 'Users'] } as const;
const SORTS = [
  ['-updated', 'Newest first'],
  ['updated', 'Oldest first'],
  ['id', 'Identifier, A to Z'],
  ['-id', 'Identifier, Z to A'],
] as const;

export function Profiles({ route }: { route: Route }) {
  const { overview, go, announce } = useShell();
  const { region, search, sort } = route;
  const kind: Kind = route.view === 'users' ? 'users' : 'companies';
  const [one, many] = NOUNS[kind];
  const change = (part: Partial<Route>, replace = false): void => go({ ...route, page: 1, ...part }, replace);
  const link = (of: Kind, id: string | null, most?: number) =>
    id !== null && <ProfileLink route={to('profile', { kind: of, region, id })} most={most} />;
  const columns: Column<ProfileLine>[] = [
    ['Identifier', ({ id }) => link(kind, id, 120)],
    ['Company', ({ company_id }) => link('companies', company_id)],
    ['Metadata', ({ preview }) => <Data text={preview} />, 'wide preview'],
    ['Upserts', ({ upserts }) => count(upserts), 'number'],
    ['Updated', ({ updated_at }) => <Time iso={updated_at} />, 'when'],
  ];
  return (
    <List<Reply<'GET /profiles'>, ProfileLine>
      title={TITLES[kind][1]}
      route={route}
      path="profiles"
      words={{ kind, region, search, sort }}
      revision={overview && `${overview.revisions.profiles} ${overview.up_to_date}`}
      sum={({ total, found }) =>
        search === '' ? plural(total, one, many) : `${count(found)} of ${plural(total, one, many)}`
      }
      rowsOf={({ profiles }) => profiles}
      found={({ found }) => found}
      tools={<Tools route={route} kind={kind} change={change} />}
      class="profiles"
      caption={TITLES[kind][1]}
      columns={columns.filter(([head]) => kind === 'users' || head !== 'Company')}
      keyOf={({ id }) => id}
      onShown={({ found }) => {
        performance.mark('profiles-shown', { detail: { search, found } });
        if (search !== '') announce(`${plural(found, one, many)} found`);
      }}
      empty={({ total }) =>
        total === 0 ? (
          <Nothing route={route} kind={kind} />
        ) : (
          <Empty title={`No ${one} matches this search`}>
            <p>The search looks at identifiers, companies and values, whatever their case.</p>
            <button type="button" onClick={() => change({ search: '' })}>
              Clear the search
            </button>
          </Empty>
        )
      }
    />
  );
}

export const ProfileLink = ({ route, most = 80 }: { route: Route; most?: number | undefined }) => (
  <Link to={route}>
    <Data text={route.id} most={most} />
  </Link>
);

interface ToolsProps {
  route: Route;
  kind: Kind;
  change(part: Partial<Route>, replace?: boolean): void;
}

function Tools({ route: { region, search, sort }, kind, change }: ToolsProps) {
  const { overview } = useShell();
  const box = useRef<HTMLInputElement>(null);
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
  const there = (where: 'default' | 'eu'): string =>
    `${where} (${count(overview?.profiles[where][kind] ?? 0)})`;
  return (
    <search class="row">
      <label class="grow">
        <span class="quiet">
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
        <span class="quiet">Region</span>
        <select
          value={region}
          onChange={(event) => change({ region: event.currentTarget.value === 'eu' ? 'eu' : 'default' })}
        >
          <option value="default">{there('default')}</option>
          <option value="eu">{there('eu')}</option>
        </select>
      </label>
      <label>
        <span class="quiet">Order</span>
        <select value={sort} onChange={(event) => change({ sort: event.currentTarget.value })}>
          {SORTS.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}

function Nothing({ route: { region }, kind }: { route: Route; kind: Kind }) {
  const { overview } = useShell();
  const other = region === 'eu' ? 'default' : 'eu';
  const there = overview?.profiles[other][kind] ?? 0;
  return (
    <Empty title={`No ${kind} in this region yet`}>
      {(overview?.jobs.unfinished ?? 0) > 0 && (
        <p>A job is under way: its rows appear here when it has completed.</p>
      )}
      {there > 0 && (
        <p>
          Region {other} has {count(there)}.
        </p>
      )}
      <p>Import a file, in another terminal:</p>
      <ImportLines file={`${kind}.csv`} />
    </Empty>
  );
}
