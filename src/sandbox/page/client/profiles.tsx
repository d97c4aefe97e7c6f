/** The views of companies or users, with search, and of user properties, which are derived from imported users. */
import { useEffect, useRef } from 'preact/hooks';
import type { Kind } from '../../profile.js';
import { type Reply, type Route, to, withQuery } from './data.js';
import { count, plural } from './format.js';
import { type Column, Data, Link, List, Table, Time, useShell, View } from './parts.js';

type Line = Reply<'GET /profiles'>['profiles'][number];

export const NOUNS = { companies: ['company', 'Companies'], users: ['user', 'Users'] } as const;
const SORTS = { '-updated': 'Newest first', updated: 'Oldest first', id: 'A to Z', '-id': 'Z to A' };
const REGIONS = ['default', 'eu'] as const;

/** Changes the route; the page is the first one again. */
type Change = (part: Partial<Route>, replace?: boolean) => void;

export function Profiles({ route }: { route: Route }) {
  const { overview, go } = useShell();
  const { region, search, sort } = route;
  const kind: Kind = route.view === 'users' ? 'users' : 'companies';
  const [noun, title] = NOUNS[kind];
  const change: Change = (part, replace) => go({ ...route, page: 1, ...part }, replace);
  const columns: Column<Line>[] = [
    ['Identifier', ({ id }) => <ProfileLink route={to('profile', { kind, region, id })} />],
    ['Company', ({ company_id: id }) => id !== null && <CompanyLink region={region} id={id} />],
    ['Metadata', ({ preview }) => <Data text={preview} />, 'wide preview'],
    ['Upserts', ({ upserts }) => count(upserts), 'number'],
    ['Updated', ({ updated_at }) => <Time iso={updated_at} />, 'when'],
  ];
  return (
    <List<Reply<'GET /profiles'>, Line>
      title={title}
      route={route}
      path={withQuery('profiles', { kind, region, search, sort })}
      revision={overview && `${overview.revisions.profiles} ${overview.up_to_date}`}
      sum={({ total, found }) => (search && `${count(found)} of `) + plural(total, noun, kind)}
      rowsOf={({ profiles }) => profiles}
      found={({ found }) => found}
      tools={<Tools route={route} kind={kind} change={change} />}
      class="profiles"
      caption={title}
      columns={columns.filter(([head]) => kind === 'users' || head !== 'Company')}
      keyOf={({ id }) => id}
    />
  );
}

export const ProfileLink = ({ route }: { route: Route }) => (
  <Link to={route}>
    <Data text={route.id} most={120} />
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
  const choice = (name: string, part: 'region' | 'sort', of: Readonly<Record<string, string>>) => (
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
      {choice('Region', 'region', Object.fromEntries(regions))}
      {choice('Order', 'sort', SORTS)}
    </search>
  );
}

const PROPERTY_COLUMNS: readonly Column<Reply<'GET /properties'>['properties'][number]>[] = [
  ['Key', ({ key }) => <Data text={key} />],
  ['Id', ({ id }) => id, 'number'],
  ['Name', ({ display_name }) => <Data text={display_name} />, 'mid'],
  ['Type', ({ data_type }) => data_type],
  ['From', (property) => (property.is_auto_property ? 'the service itself' : 'imports')],
];

/** Each metadata key of an imported user becomes a property. */
export const Properties = () => (
  <View<Reply<'GET /properties'>>
    title="User properties"
    path="properties"
    sum={({ properties }) => {
      const own = properties.filter((property) => !property.is_auto_property);
      return `${plural(properties.length, 'property', 'properties')}, ${own.length} derived from imports`;
    }}
  >
    {({ properties }) => (
      <Table
        class="properties"
        caption="User properties"
        columns={PROPERTY_COLUMNS}
        keyOf={({ key }) => key}
        rows={properties}
      />
    )}
  </View>
);
