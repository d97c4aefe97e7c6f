/** The views of all jobs, with a timeline of their states, and of one job. */
import type { JobDetail, JobLine, JobList } from '../wire.js';
import { useLive } from './data.js';
import { bytes, count, duration, plural, stateColor } from './format.js';
import {
  Command,
  Data,
  Empty,
  Heading,
  importLines,
  Link,
  PAGE_SIZE,
  Pager,
  State,
  Table,
  Time,
  useShell,
} from './parts.js';
import { shortJob } from './profile.js';
import { RequestTable } from './requests.js';
import type { Route } from './route.js';
import { withQuery } from './route.js';
import { type Scale, scaleOf } from './scale.js';

const STATES = ['queued', 'validating', 'processing', 'pending_refresh', 'completed', 'failed'] as const;

export function Jobs({ route }: { route: Route & { view: 'jobs' } }) {
  const { overview } = useShell();
  const path = withQuery('jobs', { offset: (route.page - 1) * PAGE_SIZE, limit: PAGE_SIZE });
  const { data, error } = useLive<JobList>(path, revisionOf(overview));
  const now = data ? Date.parse(data.now) : 0;
  const scale = scaleOf(data?.jobs.map((job) => spanOf(job, now)) ?? []);
  return (
    <>
      <div class="head">
        <Heading title="Jobs">Jobs</Heading>
        <p class="sum">
          {data && plural(data.total, 'job')}
          {overview !== undefined &&
            overview.jobs.unfinished > 0 &&
            ` · ${count(overview.jobs.unfinished)} under way`}
          {overview !== undefined && overview.jobs.failed > 0 && ` · ${count(overview.jobs.failed)} failed`}
        </p>
      </div>
      {error && <p class="problem">{error.message}</p>}
      {data === undefined && !error && <p class="quiet">Reading jobs…</p>}
      {data?.total === 0 && (
        <Empty title="No jobs yet">
          <p>Each bulk request becomes a job. Import a file, in another terminal:</p>
          <Command lines={importLines(overview, 'companies.csv')} />
        </Empty>
      )}
      {data !== undefined && data.jobs.length > 0 && (
        <>
          <ul class="legend" aria-label="Colors of the states">
            {STATES.map((status) => (
              <li key={status}>
                <State status={status} />
              </li>
            ))}
          </ul>
          <Table
            class="jobs"
            caption="Jobs, newest first"
            head={['Job', 'Status', ['Timeline', 'wide track'], ['Rows', 'number'], 'Accepted']}
          >
            {data.jobs.map((job) => (
              <tr key={job.job_id}>
                <th scope="row">
                  <Link to={{ view: 'job', id: job.job_id }}>{shortJob(job.job_id)}</Link>{' '}
                  <span class="quiet">
                    {job.type.replace('_bulk_identify', '')}
                    {job.region === 'eu' && ', eu'}
                  </span>
                </th>
                <td>
                  <State status={job.status} />
                </td>
                <td class="wide track">
                  <Track job={job} now={now} scale={scale} />
                </td>
                <td class="number">
                  <Rows job={job} />
                </td>
                <td class="when">
                  <Time iso={job.start_time} />
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
      {data && <Pager page={route.page} found={data.total} to={(page) => ({ view: 'jobs', page })} />}
    </>
  );
}

export function Job({ route }: { route: Route & { view: 'job' } }) {
  const { overview } = useShell();
  const { data, error, stale } = useLive<JobDetail>(withQuery('job', { id: route.id }), revisionOf(overview));
  const detail = stale ? undefined : data;
  return (
    <>
      <p class="crumbs">
        <Link to={{ view: 'jobs', page: 1 }}>Jobs</Link>
      </p>
      <div class="head">
        <Heading title={shortJob(route.id)}>{shortJob(route.id)}</Heading>
        {detail?.job && <State status={detail.job.status} />}
      </div>
      {error && <p class="problem">{error.message}</p>}
      {detail?.job === null && (
        <Empty title="The sandbox has no job with this id">
          <p>It may have been erased by a reset.</p>
        </Empty>
      )}
      {detail?.job && <JobBody detail={detail} job={detail.job} />}
    </>
  );
}

function JobBody({ detail: { now: iso, ids, request }, job }: { detail: JobDetail; job: JobLine }) {
  const now = Date.parse(iso);
  const kind = job.type.startsWith('users') ? 'users' : 'companies';
  return (
    <>
      <p class="long-id">
        <code>{job.job_id}</code>
      </p>
      <Track job={job} now={now} scale={scaleOf([spanOf(job, now)])} tall />
      <div class="columns">
        <section aria-labelledby="states">
          <h2 id="states">States</h2>
          <Table class="phases" caption="States of the job" head={['State', 'From', ['Time', 'number']]}>
            {job.phases.map(({ status, from, until }) => {
              const begun = Date.parse(from) <= now;
              return (
                <tr key={status} class={begun ? '' : 'to-come'}>
                  <th scope="row">
                    <State status={status} />
                  </th>
                  <td class="when">{begun ? <Time iso={from} /> : 'to come'}</td>
                  <td class="number">
                    {until === null ? '–' : duration(Date.parse(until) - Date.parse(from))}
                  </td>
                </tr>
              );
            })}
          </Table>
        </section>
        <section aria-labelledby="record">
          <h2 id="record">Record</h2>
          <dl class="facts">
            <dt>Rows</dt>
            <dd>
              {count(job.completed_rows)} of {count(job.total_rows)} completed
            </dd>
            <dt>Kind</dt>
            <dd>
              {kind}, region {job.region}
            </dd>
            <dt>Accepted</dt>
            <dd>
              <Time iso={job.start_time} />
            </dd>
            <dt>Ended</dt>
            <dd>{job.end_time === null ? 'not yet' : <Time iso={job.end_time} />}</dd>
            <dt>Took</dt>
            <dd>{duration(job.elapsed_time * 1_000)}</dd>
            <dt>Body</dt>
            <dd>
              {bytes(job.file_size)}, {job.filename}
            </dd>
          </dl>
        </section>
      </div>
      {ids.length > 0 && (
        <section aria-labelledby="ids">
          <h2 id="ids">Profiles it upserted</h2>
          <ul class="ids">
            {ids.map((id) => (
              <li key={id}>
                <Link to={{ view: 'profile', kind, region: job.region, id }}>
                  <Data text={id} most={80} />
                </Link>
              </li>
            ))}
            {job.completed_rows > ids.length && (
              <li class="quiet">and {count(job.completed_rows - ids.length)} more</li>
            )}
          </ul>
        </section>
      )}
      {job.status === 'failed' && <p class="note">A failed job changes no profile.</p>}
      {request && (
        <section aria-labelledby="request">
          <h2 id="request">Request</h2>
          <RequestTable requests={[request]} caption="The request that created it" />
        </section>
      )}
    </>
  );
}

function Rows({ job }: { job: JobLine }) {
  const whole = job.completed_rows === job.total_rows;
  return <>{whole ? count(job.total_rows) : `${count(job.completed_rows)} / ${count(job.total_rows)}`}</>;
}

type Overview = ReturnType<typeof useShell>['overview'];

/** Changes when the jobs should be read again. Unfinished jobs change with time. */
const revisionOf = (overview: Overview): string | undefined =>
  overview && JSON.stringify([overview.jobs, overview.jobs.unfinished > 0 && overview.now]);

function spanOf(job: JobLine, now: number): { from: number; until: number } {
  const from = Date.parse(job.start_time);
  return { from, until: job.end_time === null ? Math.max(now, from + 1) : Date.parse(job.end_time) };
}

/** A bar of the states that the job has passed through, to scale. */
function Track({
  job,
  now,
  scale,
  tall = false,
}: {
  job: JobLine;
  now: number;
  scale: Scale;
  tall?: boolean;
}) {
  const { until: end } = spanOf(job, now);
  const passed = job.phases.filter(({ from }) => Date.parse(from) <= now);
  const x = (ms: number): number => scale.at(ms) * 1_000;
  const height = tall ? 28 : 14;
  const text = passed
    .map(({ status, from, until }) =>
      until === null ? status : `${status} ${duration(Math.min(now, Date.parse(until)) - Date.parse(from))}`,
    )
    .join(', ');
  return (
    <svg
      class={tall ? 'timeline tall' : 'timeline'}
      viewBox={`0 0 1000 ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text}
    >
      <rect class="ground" x="0" y="0" width="1000" height={height} />
      {scale.gaps.map((gap) => (
        <rect key={gap} class="gap" x={gap * 1_000 - 3} y="0" width="6" height={height} />
      ))}
      {passed.map(({ status, from, until }) => {
        const left = x(Date.parse(from));
        const right = x(Math.min(until === null ? end : Date.parse(until), end));
        // The end is always marked, however short the job was.
        const ended = status === 'completed' || status === 'failed';
        const width = Math.max(right - left, ended ? 6 : 2);
        return (
          <rect
            key={status}
            class={stateColor(status)}
            x={Math.min(left, 1_000 - width)}
            y="0"
            width={width}
            height={height}
          />
        );
      })}
    </svg>
  );
}
