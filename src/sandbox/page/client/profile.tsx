/** The view of one profile: its data, and how it changed. */
import { BASE, type Reply, type Route, to, withQuery } from './data.js';
import { count, plural, shortJob, visible } from './format.js';
import { type Column, Data, Detail, Empty, Link, Section, Table, Time } from './parts.js';
import { CompanyLink, TITLES } from './profiles.js';

type Held = NonNullable<Reply<'GET /profile'>['profile']>;
type Field = Held['fields'][number];
type Shown = Omit<Field, 'key'>;

export function Profile({ route: { kind, region, id } }: { route: Route }) {
  const [noun, nouns] = TITLES[kind] ?? TITLES.companies;
  const heading = (
    <>
      <span class="unseen">{noun} </span>
      <Data text={id} />
    </>
  );
  return (
    <Detail<Reply<'GET /profile'>>
      back={[nouns, to(kind, { region })]}
      title={id}
      path={withQuery('profile', { kind, region, id })}
      heading={heading}
      sum={({ profile }) => (
        <>
          {noun} in region {region}
          {profile?.company_id != null && ' · '}
          {profile?.company_id != null && <CompanyLink region={region} id={profile.company_id} />}
        </>
      )}
    >
      {({ profile, pending }) =>
        profile === null ? (
          <Empty title={`The sandbox has no ${noun.toLowerCase()} with this identifier in region ${region}`}>
            {pending
              ? 'A job that contains it has not completed yet.'
              : 'It may have been erased, or be in the other region.'}
          </Empty>
        ) : (
          <>
            {pending && <p class="note warn">A job that holds this profile has not completed yet.</p>}
            <div class="columns">
              <Section title="Metadata">
                {profile.fields.length === 0 ? (
                  <p class="quiet">No metadata.</p>
                ) : (
                  <Table {...FIELDS} rows={profile.fields} />
                )}
                <a href={`${BASE}api/${withQuery('profile.json', { kind, region, id })}`}>Whole, as JSON</a>
              </Section>
              <Section title="Story">
                <Story profile={profile} />
              </Section>
            </div>
          </>
        )
      }
    </Detail>
  );
}

const COLUMNS: readonly Column<Field>[] = [
  ['Key', ({ key }) => <Data text={key} />],
  ['Value', (field) => <Value value={field} />, 'value'],
  ['Type', ({ type }) => type, 'quiet'],
];
const FIELDS = { class: 'fields', caption: 'Metadata', columns: COLUMNS, keyOf: ({ key }: Field) => key };

function Value({ value: { text, type, characters } }: { value: Shown }) {
  if (text === '' && type === 'string') return <span class="quiet">empty</span>;
  return (
    <>
      <bdi>{visible(text, false)}</bdi>
      {characters > text.length && <span class="quiet"> ({count(characters)} characters)</span>}
    </>
  );
}

function Story({ profile: { story, upserts } }: { profile: Held }) {
  return (
    <>
      <ol>
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

interface UpsertProps {
  entry: Held['story'][number];
  /** Whether it created the profile. */
  first: boolean;
}

const shown = (text: string | null): Shown | null =>
  text === null ? null : { type: 'string', text, characters: text.length };

function Upsert({
  entry: { at, job_id, company_id, more_changes, unchanged, ...entry },
  first,
}: UpsertProps) {
  const company = company_id && [
    { key: 'company_id', before: shown(company_id.before), after: shown(company_id.after) },
  ];
  const changes = [...(company ?? []), ...entry.changes];
  const changed = changes.length + more_changes;
  const what = first ? 'Created' : changed === 0 ? 'Changed nothing' : `Changed ${plural(changed, 'value')}`;
  return (
    <li>
      <strong>{what}</strong> <Time iso={at} /> by{' '}
      {job_id === null ? 'a single upsert' : <Link to={to('job', { id: job_id })}>{shortJob(job_id)}</Link>}
      <ul>
        {changes.map(({ key, before, after }) => (
          <li key={key}>
            <span class="quiet">
              <Data text={key} />
            </span>
            {before && <span class="unseen"> was</span>}{' '}
            {before && (
              <del class="bad">
                <Value value={before} />
              </del>
            )}
            {before && after && <span class="unseen"> is now</span>}{' '}
            {after ? (
              <ins class={first ? '' : 'good'}>
                <Value value={after} />
              </ins>
            ) : (
              <em class="quiet">removed</em>
            )}
          </li>
        ))}
        {more_changes > 0 && <li class="quiet">and {plural(more_changes, 'more key')}</li>}
        {unchanged > 0 && changed > 0 && <li class="quiet">{plural(unchanged, 'value')} sent as before</li>}
      </ul>
    </li>
  );
}
