/** The view of one profile: its data, and how it changed. */
import { BASE, type ProfileDetail, type Reply, type Shown, type StoryEntry } from './data.js';
import { count, plural, shortJob, visible } from './format.js';
import { type Column, Data, Empty, Link, Section, Table, Time } from './parts.js';
import { ProfileLink, TITLES } from './profiles.js';
import { type Route, to, withQuery } from './route.js';
import { Detail } from './views.js';

export function Profile({ route }: { route: Route }) {
  const { kind, region, id } = route;
  const [noun, nouns] = TITLES[kind] ?? TITLES.companies;
  return (
    <Detail<Reply<'GET /profile'>>
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
  ['Key', ({ key }) => <Data text={key} />],
  ['Value', (field) => <Value value={field} />, 'value'],
  ['Type', ({ type }) => type, 'quiet'],
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
