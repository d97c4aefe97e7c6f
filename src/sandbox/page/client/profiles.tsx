/** The views of companies or users, with search, and of user properties, which are derived from imported users. */
import { useEffect, useRef } from 'preact/hooks';
import type { Kind } from '../../profile.js';
import { type Reply, type Route, to, withQuery } from './data.js';
import { count, plural } from './format.js';
import { type Column, Data, Empty, ImportLines, Link, List, Time, useShell } from './parts.js';

type Line = Reply<'GET /profiles'>['profiles'][number];

const NOUNS = { companies: ['company', 'companies'], users: ['user', 'users'] } as const;
export const TITLES = { companies: ['Company', 'Companies'], users: ['User', 'Users'] } as const;
const SORTS = {
  '-updated': 'Newest first',
  updated: 'Oldest first',
  id: 'Identifier, A to Z',
  '-id': 'Identifier, Z to A',
};
const REGIONS = ['default', 'eu'] as const;

/** Changes the route; the page is the first one again. */
type Change = (part: Partial<Route>, replace?: boolean) => void;

export function Profiles({ route }: { route: Route }) {
  const { overview, go, announce } = useShell();
  const { region, search, sort } = route;
  const kind: Kind = route.view === 'users' ? 'users' : 'companies';
  const [one, many] = NOUNS[kind];
  const change: Change = (part, replace) => go({ ...route, page: 1, ...part }, replace);
  const columns: Column<Line>[] = [
    ['Identifier', ({ id }) => <ProfileLink route={to('profile', { kind, region, id })} most={120} />],
    ['Company', ({ company_id: id }) => id !== null && <CompanyLink region={region} id={id} />],
    ['Metadata', ({ preview }) => <Data text={preview} />, 'wide preview'],
    ['Upserts', ({ upserts }) => count(upserts), 'number'],
    ['Updated', ({ updated_at }) => <Time iso={updated_at} />, 'when'],
  ];
  return (
    <List<Reply<'GET /profiles'>, Line>
      title={TITLES[kind][1]}
      route={route}
      path={withQuery('profiles', { kind, region, search, sort })}
      revision={overview && `${overview.revisions.profiles} ${overview.up_to_date}`}
      sum={({ total, found }) => (search && `${count(found)} of `) + plural(total, one, many)}
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

export const ProfileLink = ({ route, most = 80 }: { route: Route; most?: number }) => (
  <Link to={route}>
    <Data text={route.id} most={most} />
  </Link>
);

export const CompanyLink = ({ region, id }: Pick<Route, 'region' | 'id'>) => (
  <ProfileLink route={to('profile', { kind: 'companies', region, id })} />
);

function Tools({ route, kind, change }: { route: Route; kind: Kind; change: Change }) {
  const { overview } = useShell();
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const typing = (event.target as Element).closest('input, select');
      if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      box.current?.select();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  const regions = REGIONS.map((one) => [one, `${one} (${count(overview?.profiles[one][kind] ?? 0)})`]);
  return (
    <search class="row">
      <label class="grow">
        <span class="quiet">
          Search <kbd>/</kbd>
        </span>
        <input
          ref={box}
          type="search"
          value={route.search}
          placeholder="identifier, company or any value"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => change({ search: event.currentTarget.value }, true)}
        />
      </label>
      <Choice name="Region" part="region" of={Object.fromEntries(regions)} route={route} change={change} />
      <Choice name="Order" part="sort" of={SORTS} route={route} change={change} />
    </search>
  );
}

interface ChoiceProps {
  name: string;
  part: 'region' | 'sort';
  of: Readonly<Record<string, string>>;
  route: Route;
  change: Change;
}

const Choice = ({ name, part, of, route, change }: ChoiceProps) => (
  <label>
    <span class="quiet">{name}</span>
    <select value={route[part]} onChange={(event) => change({ [part]: event.currentTarget.value })}>
      {Object.entries(of).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

function Nothing({ route: { region }, kind }: { route: Route; kind: Kind }) {
  const { overview } = useShell();
  const other = region === 'eu' ? 'default' : 'eu';
  const there = overview?.profiles[other][kind] ?? 0;
  const unfinished = overview?.jobs.unfinished ?? 0;
  return (
    <Empty title={`No ${kind} in this region yet`}>
      {unfinished > 0 && <p>A job is under way: its rows appear here when it has completed.</p>}
      {there > 0 && <p>{`Region ${other} has ${count(there)}.`}</p>}
      <p>Import a file, in another terminal:</p>
      <ImportLines file={`${kind}.csv`} />
    </Empty>
  );
}

type PropertyList = Reply<'GET /properties'>;
type Property = PropertyList['properties'][number];

const PROPERTY_COLUMNS: readonly Column<Property>[] = [
  ['Key', ({ key }) => <Data text={key} />],
  ['Id', ({ id }) => id, 'number'],
  ['Name', ({ display_name }) => <Data text={display_name} />, 'mid'],
  ['Type', ({ data_type }) => data_type],
  ['From', (property) => (property.is_auto_property ? 'the service itself' : 'imports')],
];

export function Properties({ route }: { route: Route }) {
  return (
    <List<PropertyList, Property>
      title="User properties"
      route={route}
      path="properties"
      sum={({ properties }) => {
        const own = properties.filter((property) => !property.is_auto_property);
        return `${plural(properties.length, 'property', 'properties')}, ${own.length} derived from imports`;
      }}
      tools={<p class="quiet">Each metadata key of an imported user becomes a property.</p>}
      rowsOf={({ properties }) => properties}
      class="properties"
      caption="User properties"
      columns={PROPERTY_COLUMNS}
      keyOf={({ key }) => key}
    />
  );
}
