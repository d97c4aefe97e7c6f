/** The views of companies or users, and of one of them: its data, and how it changed. */
import { useEffect, useRef } from 'preact/hooks';
import type {
  Kind,
  ProfileAnswer,
  ProfileDetail,
  ProfileLine,
  ProfileList,
  Shown,
  StoryEntry,
} from '../wire.js';
import { BASE } from './data.js';
import { count, plural, shortJob, visible } from './format.js';
import { type Column, Data, Empty, ImportLines, Link, Section, Table, Time, useShell } from './parts.js';
import { type Route, to, withQuery } from './route.js';
import { Detail, List } from './views.js';

const NOUNS = { companies: ['company', 'companies'], users: ['user', 'users'] } as const;
const TITLES = { companies: ['Company', 'Companies'], users: ['User', 'Users'] } as const;
const SORTS = [
  ['-updated', 'Newest first'],
  ['updated', 'Oldest first'],
  ['id', 'Identifier, A to Z'],
  ['-id', 'Identifier, Z to A'],
] as const;

export function Profiles({ route, kind }: { route: Route; kind: Kind }) {
  const { overview, go, announce } = useShell();
  const { region, search, sort } = route;
  const [one, many] = NOUNS[kind];
  const change = (part: Partial<Route>, replace = false): void => go({ ...route, page: 1, ...part }, replace);
  const columns: Column<ProfileLine>[] = [
    {
      head: 'Identifier',
      names: true,
      cell: ({ id }) => <ProfileLink route={{ ...route, kind, id }} most={120} />,
    },
    {
      head: 'Company',
      cell: ({ company_id: id }) =>
        id !== null && <ProfileLink route={{ ...route, kind: 'companies', id }} />,
    },
    { head: 'Metadata', class: 'wide preview', cell: ({ preview }) => <Data text={preview} /> },
    { head: 'Upserts', class: 'number', cell: ({ upserts }) => count(upserts) },
    { head: 'Updated', class: 'when', cell: (profile) => <Time iso={profile.updated_at} /> },
  ];
  return (
    <List<ProfileList, ProfileLine>
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
      columns={columns.filter(({ head }) => kind === 'users' || head !== 'Company')}
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

function ProfileLink({ route: { kind, region, id }, most = 80 }: { route: Route; most?: number }) {
  return (
    <Link to={to('profile', { kind, region, id })}>
      <Data text={id} most={most} />
    </Link>
  );
}

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

export function Profile({ route }: { route: Route }) {
  const { kind, region, id } = route;
  const [noun, nouns] = TITLES[kind] ?? TITLES.companies;
  return (
    <Detail<ProfileAnswer>
      back={[nouns, to(kind, { region })]}
      title={id}
      path={withQuery('profile', { kind, region, id })}
      heading={
        <>
          <span class="unseen">{noun} </span>
          <Data text={id} />
        </>
      }
      sum={({ profile }) => (
        <>
          {noun} in region {region}
          {profile?.company_id != null && ' · '}
          {profile?.company_id != null && (
            <ProfileLink route={to('profile', { kind: 'companies', region, id: profile.company_id })} />
          )}
        </>
      )}
    >
      {({ profile, pending }) =>
        profile === null ? (
          <Empty title={`The sandbox has no ${noun.toLowerCase()} with this identifier in region ${region}`}>
            <p>
              {pending
                ? 'A job that contains it has not completed yet.'
                : 'It may have been erased, or be in the other region.'}
            </p>
          </Empty>
        ) : (
          <>
            {pending && <p class="note warn">A job that holds this profile has not completed yet.</p>}
            <div class="columns">
              <Section id="now" title="Metadata">
                <Fields fields={profile.fields} />
                <a href={`${BASE}api/${withQuery('profile.json', { kind, region, id })}`}>Whole, as JSON</a>
              </Section>
              <Section id="story" title="Story">
                <Story profile={profile} />
              </Section>
            </div>
          </>
        )
      }
    </Detail>
  );
}

type Field = ProfileDetail['fields'][number];
const FIELD_COLUMNS: readonly Column<Field>[] = [
  { head: 'Key', names: true, cell: ({ key }) => <Data text={key} /> },
  { head: 'Value', class: 'value', cell: (field) => <Value value={field} /> },
  { head: 'Type', class: 'quiet', cell: ({ type }) => type },
];

function Fields({ fields }: { fields: readonly Field[] }) {
  if (fields.length === 0) return <p class="quiet">No metadata.</p>;
  return (
    <Table class="fields" caption="Metadata" columns={FIELD_COLUMNS} keyOf={({ key }) => key} rows={fields} />
  );
}

function Value({ value: { text, type, characters } }: { value: Shown }) {
  if (text === '' && type === 'string') return <span class="quiet">empty</span>;
  return (
    <>
      <bdi>{visible(text, false)}</bdi>
      {characters > text.length && <span class="quiet"> ({count(characters)} characters)</span>}
    </>
  );
}

function Story({ profile: { story, upserts } }: { profile: ProfileDetail }) {
  return (
    <>
      <ol class="story">
        {story.map((entry, index) => (
          <Upsert key={upserts - index} entry={entry} first={upserts - index === 1} />
        ))}
      </ol>
      {upserts > story.length && (
        <p class="quiet">The {count(upserts - story.length)} upserts before these are not shown.</p>
      )}
      <p class="quiet">Of a request that was sent again byte for byte, the newest two are kept.</p>
    </>
  );
}

const textOf = (text: string): Shown => ({ type: 'string', text, characters: text.length });

function Upsert({ entry, first }: { entry: StoryEntry; first: boolean }) {
  const { at, job_id, company_id, more_changes, unchanged } = entry;
  const company = company_id && {
    key: 'company_id',
    before: company_id.before === null ? null : textOf(company_id.before),
    after: textOf(company_id.after),
  };
  const changes = company === null ? entry.changes : [company, ...entry.changes];
  const changed = changes.length + more_changes;
  const what = first ? 'Created' : changed === 0 ? 'Changed nothing' : `Changed ${plural(changed, 'value')}`;
  return (
    <li>
      <strong>{what}</strong> <Time iso={at} /> by{' '}
      {job_id === null ? 'a single upsert' : <Link to={to('job', { id: job_id })}>{shortJob(job_id)}</Link>}
      <ul>
        {changes.map((change) => (
          <Change key={change.key} change={change} first={first} />
        ))}
        {more_changes > 0 && <li class="quiet">and {plural(more_changes, 'more key')}</li>}
        {unchanged > 0 && changed > 0 && <li class="quiet">{plural(unchanged, 'value')} sent as before</li>}
      </ul>
    </li>
  );
}

type ChangeProps = { change: StoryEntry['changes'][number]; first: boolean };

function Change({ change: { key, before, after }, first }: ChangeProps) {
  return (
    <li>
      <span class="quiet">
        <Data text={key} />
      </span>{' '}
      {before && (
        <>
          <span class="unseen">was</span>{' '}
          <del class="bad">
            <Value value={before} />
          </del>{' '}
        </>
      )}
      {before && after && <span class="unseen">is now </span>}
      {after ? (
        <ins class={first ? '' : 'good'}>
          <Value value={after} />
        </ins>
      ) : (
        <em class="quiet">removed</em>
      )}
    </li>
  );
}
