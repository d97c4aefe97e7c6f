/** The view of one profile: its data, and how it changed. */
import type { ProfileAnswer, ProfileDetail, Shown, StoryEntry } from '../wire.js';
import { BASE, useLive } from './data.js';
import { count, plural, visible } from './format.js';
import { Data, Empty, Heading, Link, Table, Time, useShell } from './parts.js';
import { profiles, type Route, withQuery } from './route.js';

export function Profile({ route }: { route: Route & { view: 'profile' } }) {
  const { overview } = useShell();
  const { kind, region, id } = route;
  const path = withQuery('profile', { kind, region, id });
  const { data, error, stale } = useLive<ProfileAnswer>(
    path,
    overview && `${overview.revisions.profiles} ${overview.jobs.total} ${overview.jobs.unfinished}`,
  );
  const profile = stale ? undefined : data?.profile;
  const noun = kind === 'users' ? 'User' : 'Company';
  return (
    <>
      <p class="crumbs">
        <Link to={profiles(kind, region)}>{kind === 'users' ? 'Users' : 'Companies'}</Link>
      </p>
      <div class="head">
        <Heading title={id}>
          <span class="unseen">{noun} </span>
          <Data text={id} />
        </Heading>
        <p class="sum">
          {noun} in region {region}
          {profile?.company_id != null && (
            <>
              {' · '}
              <Link to={{ view: 'profile', kind: 'companies', region, id: profile.company_id }}>
                <Data text={profile.company_id} most={80} />
              </Link>
            </>
          )}
        </p>
      </div>
      {error && <p class="problem">{error.message}</p>}
      {profile === null && (
        <Empty title={`The sandbox has no ${noun.toLowerCase()} with this identifier in region ${region}`}>
          <p>
            {data?.pending
              ? 'A job that contains it has not completed yet.'
              : 'It may have been erased, or be in the other region.'}
          </p>
        </Empty>
      )}
      {profile === undefined && !error && <p class="quiet">Reading the profile…</p>}
      {profile && data?.pending && <p class="note">A job that holds this profile has not completed yet.</p>}
      {profile && (
        <div class="columns">
          <section aria-labelledby="now">
            <h2 id="now">Metadata</h2>
            <Fields profile={profile} />
            <p class="quiet">
              <a href={`${BASE}api/${withQuery('profile.json', { kind, region, id })}`}>Whole, as JSON</a>
            </p>
          </section>
          <section aria-labelledby="story">
            <h2 id="story">Story</h2>
            <Story profile={profile} />
          </section>
        </div>
      )}
    </>
  );
}

function Fields({ profile }: { profile: ProfileDetail }) {
  if (profile.fields.length === 0) return <p class="quiet">No metadata.</p>;
  return (
    <Table class="fields" caption="Metadata" head={['Key', 'Value', 'Type']}>
      {profile.fields.map((field) => (
        <tr key={field.key}>
          <th scope="row">
            <Data text={field.key} />
          </th>
          <td class="value">
            <Value value={field} />
          </td>
          <td class="type">{field.type}</td>
        </tr>
      ))}
    </Table>
  );
}

function Value({ value }: { value: Shown }) {
  if (value.text === '' && value.type === 'string') return <span class="quiet">empty</span>;
  return (
    <>
      <bdi>{visible(value.text, false)}</bdi>
      {value.characters > value.text.length && (
        <span class="quiet"> ({count(value.characters)} characters)</span>
      )}
    </>
  );
}

function Story({ profile }: { profile: ProfileDetail }) {
  const { story, upserts } = profile;
  return (
    <>
      <ol class="story">
        {story.map((entry, index) => (
          <Chapter
            key={`${entry.at} ${entry.job_id} ${upserts - index}`}
            entry={entry}
            first={upserts - index === 1}
          />
        ))}
      </ol>
      {upserts > story.length && (
        <p class="quiet">The {count(upserts - story.length)} upserts before these are not shown.</p>
      )}
      <p class="quiet">Of a request that was sent again byte for byte, the newest two are kept.</p>
    </>
  );
}

function Chapter({ entry, first }: { entry: StoryEntry; first: boolean }) {
  const changed = entry.changes.length + entry.more_changes + (entry.company_id ? 1 : 0);
  const what = first ? 'Created' : changed === 0 ? 'Changed nothing' : `Changed ${plural(changed, 'value')}`;
  return (
    <li>
      <p class="chapter-head">
        <strong>{what}</strong> <Time iso={entry.at} />{' '}
        {entry.job_id === null ? (
          <span>by a single upsert</span>
        ) : (
          <>
            by{' '}
            <Link to={{ view: 'job', id: entry.job_id }}>
              <Data text={shortJob(entry.job_id)} />
            </Link>
          </>
        )}
      </p>
      {changed > 0 && (
        <ul class="changes">
          {entry.company_id && (
            <Line
              name="company_id"
              before={entry.company_id.before === null ? null : textOf(entry.company_id.before)}
              after={textOf(entry.company_id.after)}
              first={first}
            />
          )}
          {entry.changes.map(({ key, before, after }) => (
            <Line key={key} name={key} before={before} after={after} first={first} />
          ))}
          {entry.more_changes > 0 && <li class="quiet">and {plural(entry.more_changes, 'more key')}</li>}
        </ul>
      )}
      {entry.unchanged > 0 && changed > 0 && (
        <p class="quiet">{plural(entry.unchanged, 'value')} sent as before</p>
      )}
    </li>
  );
}

function Line({
  name,
  before,
  after,
  first,
}: {
  name: string;
  before: Shown | null;
  after: Shown | null;
  first: boolean;
}) {
  return (
    <li>
      <span class="key">
        <Data text={name} />
      </span>
      {before && (
        <>
          <span class="unseen">was</span>{' '}
          <del>
            <Value value={before} />
          </del>{' '}
        </>
      )}
      {after ? (
        <>
          {before && <span class="unseen">is now</span>}{' '}
          <ins class={first ? 'plain' : ''}>
            <Value value={after} />
          </ins>
        </>
      ) : (
        <span class="removed">removed</span>
      )}
    </li>
  );
}

const textOf = (text: string): Shown => ({ type: 'string', text, characters: text.length });

/** `job 17` for `urn:profiles:job:default/5f3c0a91-17`. */
export const shortJob = (id: string): string => `job ${id.slice(id.lastIndexOf('-') + 1)}`;
