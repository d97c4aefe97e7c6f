/** The view of one profile: its data, and how it changed. */
import { BASE, type Reply, type Route, to, withQuery } from './data.js';
import { count, plural, shortJob, visible } from './format.js';
import { type Column, Data, Empty, Link, Section, Table, Time, View } from './parts.js';
import { CompanyLink, NOUNS } from './profiles.js';

type Held = NonNullable<Reply<'GET /profile'>['profile']>;
type Field = Held['fields'][number];
type Shown = Omit<Field, 'key'>;

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

function Value({ value: { text, type, characters } }: { value: Shown }) {
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
        <Upsert key={upserts - index} entry={entry} first={upserts - index === 1} />
      ))}
    </ol>
    {upserts > story.length && (
      <p class="quiet">The {count(upserts - story.length)} upserts before these are not shown.</p>
    )}
    <p class="quiet">Of a request that was sent again byte for byte, the newest two are kept.</p>
  </Section>
);

interface UpsertProps {
  entry: Held['story'][number];
  /** Whether it created the profile. */
  first: boolean;
}

const shown = (text: string | null): Shown | null =>
  text === null ? null : { type: 'string', text, characters: text.length };

function Upsert({ entry: { at, job_id, company_id, unchanged, changes }, first }: UpsertProps) {
  const { before, after } = company_id ?? { before: null, after: null };
  const company = { key: 'company_id', before: shown(before), after: shown(after) };
  const all = company_id ? [company, ...changes] : changes;
  const what = all.length === 0 ? 'Changed nothing' : `Changed ${plural(all.length, 'value')}`;
  return (
    <li>
      <strong>{first ? 'Created' : what}</strong> <Time iso={at} /> by{' '}
      {job_id === null ? 'a single upsert' : <Link to={to('job', { id: job_id })}>{shortJob(job_id)}</Link>}
      <ul>
        {all.map((change) => (
          <li key={change.key}>
            <span class="quiet">
              <Data text={change.key} />
            </span>{' '}
            {change.before && (
              <>
                <span class="unseen">was</span>{' '}
                <del class="bad">
                  <Value value={change.before} />
                </del>{' '}
                <span class="unseen">is now</span>{' '}
              </>
            )}
            {change.after ? (
              <ins class={first ? '' : 'good'}>
                <Value value={change.after} />
              </ins>
            ) : (
              <em class="quiet">removed</em>
            )}
          </li>
        ))}
        {unchanged > 0 && all.length > 0 && (
          <li class="quiet">{plural(unchanged, 'value')} sent as before</li>
        )}
      </ul>
    </li>
  );
}
