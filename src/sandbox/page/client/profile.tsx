/** The view of one profile: its data, and how it changed. */
import { BASE, type Reply, type Route, to, withQuery } from './data.js';
import { count, plural, shortJob, visible } from './format.js';
import { type Column, Data, Empty, Link, Section, Table, Time, View } from './parts.js';
import { CompanyLink, NOUNS } from './profiles.js';

type Held = NonNullable<Reply<'GET /profile'>['profile']>;
type Field = Held['fields'][number];

export function Profile({ route: { kind, region, id } }: { route: Route }) {
  const [noun, nouns] = NOUNS[kind] ?? NOUNS.companies;
  return (
    <View<Reply<'GET /profile'>>
      back={[nouns, to(kind, { region })]}
      title={id}
      path={withQuery('profile', { kind, region, id })}
      sum={({ profile }) => (
        <>
          {noun} in region {region}{' '}
          {profile?.company_id != null && <CompanyLink region={region} id={profile.company_id} />}
        </>
      )}
    >
      {({ profile, pending }) =>
        profile === null ? (
          <Empty title={`The sandbox has no ${noun} with this identifier in region ${region}`}>
            {pending
              ? 'A job that contains it has not completed yet.'
              : 'It may have been erased, or be in the other region.'}
          </Empty>
        ) : (
          <>
            {pending && <p class="note warn">A job that holds this profile has not completed yet.</p>}
            <div class="columns">
              <Section title="Metadata">
                <Table {...FIELDS} rows={profile.fields} />
                <a href={`${BASE}api/${withQuery('profile.json', { kind, region, id })}`}>Whole, as JSON</a>
              </Section>
              <Story {...profile} />
            </div>
          </>
        )
      }
    </View>
  );
}

const COLUMNS: readonly Column<Field>[] = [
  ['Key', ({ key }) => <Data text={key} />],
  ['Value', (field) => <Value value={field} />, 'value'],
  ['Type', ({ type }) => type, 'quiet'],
];
const FIELDS = { class: 'fields', caption: 'Metadata', columns: COLUMNS, keyOf: ({ key }: Field) => key };

function Value({ value: { text, type, characters } }: { value: Omit<Field, 'key'> }) {
  if (text === '' && type === 'string') return <span class="quiet">empty</span>;
  return (
    <>
      <bdi>{visible(text, false)}</bdi>
      {characters > text.length && <span class="quiet"> ({count(characters)} characters)</span>}
    </>
  );
}

const Story = ({ story, upserts }: Held) => (
  <Section title="Story">
    <ol>
      {story.map((entry, index) => (
        <Upsert key={upserts - index} {...entry} first={upserts - index === 1} />
      ))}
    </ol>
    {upserts > story.length && (
      <p class="quiet">The {count(upserts - story.length)} upserts before these are not shown.</p>
    )}
    <p class="quiet">Of a request that was sent again byte for byte, the newest two are kept.</p>
  </Section>
);

type Entry = Held['story'][number];
type Change = Entry['changes'][number];

const CHANGES: readonly Column<Change>[] = [
  ['Key', ({ key }) => <Data text={key} />],
  ['Before', ({ before }) => before && <Value value={before} />, 'value'],
  ['After', ({ after }) => (after ? <Value value={after} /> : <em class="quiet">removed</em>), 'value'],
];
const CHANGED = { class: 'fields', columns: CHANGES, keyOf: ({ key }: Change) => key };

/** `first`: it created the profile. */
function Upsert({ at, job_id, unchanged, changes, first }: Entry & { first: boolean }) {
  const changed = changes.length === 0 ? 'Changed nothing' : `Changed ${plural(changes.length, 'value')}`;
  const what = first ? 'Created' : changed;
  return (
    <li>
      <p>
        <strong>{what}</strong> <Time iso={at} /> by{' '}
        {job_id === null ? 'a single upsert' : <Link to={to('job', { id: job_id })}>{shortJob(job_id)}</Link>}
        {unchanged > 0 && <span class="quiet">, {plural(unchanged, 'value')} sent as before</span>}
      </p>
      {changes.length > 0 && <Table {...CHANGED} caption={what} rows={changes} />}
    </li>
  );
}
