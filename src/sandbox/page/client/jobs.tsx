/** The views of all jobs, with a timeline of their states, and of one job. */
import type { JobLine, Reply } from './data.js';
import { bytes, count, duration, plural, STATES, shortJob, stateColor } from './format.js';
import {
  type Column,
  Data,
  Empty,
  Facts,
  ImportLines,
  Link,
  Section,
  State,
  Table,
  Time,
  useShell,
} from './parts.js';
import { RequestTable } from './requests.js';
import { type Route, to, withQuery } from './route.js';
import { type Scale, type Span, scaleOf } from './scale.js';
import { Detail, List } from './views.js';

/** A job, and the axis that it is drawn on. */
interface Drawn {
  job: JobLine;
  now: number;
  scale: Scale;
}

const COLUMNS: readonly Column<Drawn>[] = [
  ['Job', ({ job }) => <JobLink job={job} />],
  ['Status', ({ job }) => <State status={job.status} />],
  ['Timeline', (drawn) => <Track {...drawn} height={14} />, 'track'],
  ['Rows', ({ job }) => rowsOf(job), 'number'],
  ['Accepted', ({ job }) => <Time iso={job.start_time} />, 'when'],
];

const JobLink = ({ job }: { job: JobLine }) => (
  <>
    <Link to={to('job', { id: job.job_id })}>{shortJob(job.job_id)}</Link>{' '}
    <span class="quiet">
      {kindOf(job)}
      {job.region === 'eu' && ', eu'}
    </span>
  </>
);

export function Jobs({ route }: { route: Route }) {
  const { overview } = useShell();
  const { unfinished = 0, failed = 0 } = overview?.jobs ?? {};
  return (
    <List<Reply<'GET /jobs'>, Drawn>
      title="Jobs"
      route={route}
      path="jobs"
      sum={({ total }) =>
        [
          plural(total, 'job'),
          unfinished && `${count(unfinished)} under way`,
          failed && `${count(failed)} failed`,
        ]
          .filter(Boolean)
          .join(' · ')
      }
      rowsOf={({ jobs, now: iso }) => {
        const now = Date.parse(iso);
        const scale = scaleOf(jobs.map((job) => spanOf(job, now)));
        return jobs.map((job) => ({ job, now, scale }));
      }}
      found={({ total }) => total}
      above={({ total }) =>
        total > 0 && (
          <ul class="row" aria-label="Colors of the states">
            {STATES.map((status) => (
              <li key={status}>
                <State status={status} />
              </li>
            ))}
          </ul>
        )
      }
      class="jobs"
      caption="Jobs, newest first"
      columns={COLUMNS}
      keyOf={({ job }) => job.job_id}
      empty={() => (
        <Empty title="No jobs yet">
          <p>Each bulk request becomes a job. Import a file, in another terminal:</p>
          <ImportLines file="companies.csv" />
        </Empty>
      )}
    />
  );
}

export function Job({ route: { id } }: { route: Route }) {
  return (
    <Detail<Reply<'GET /job'>>
      back={['Jobs', to('jobs')]}
      title={shortJob(id)}
      path={withQuery('job', { id })}
      sum={({ job }) => job && <State status={job.status} />}
    >
      {(detail) =>
        detail.job === null ? (
          <Empty title="The sandbox has no job with this id">
            <p>It may have been erased by a reset.</p>
          </Empty>
        ) : (
          <JobBody detail={detail} job={detail.job} />
        )
      }
    </Detail>
  );
}

function JobBody({ detail: { now: iso, ids, request }, job }: { detail: Reply<'GET /job'>; job: JobLine }) {
  const now = Date.parse(iso);
  const kind = kindOf(job);
  const phases = job.phases.map((phase) => ({ ...phase, begun: Date.parse(phase.from) <= now }));
  return (
    <>
      <p class="quiet">
        <code>{job.job_id}</code>
      </p>
      <Track job={job} now={now} scale={scaleOf([spanOf(job, now)])} height={28} />
      {job.status === 'failed' && <p class="note warn">A failed job changes no profile.</p>}
      <div class="columns">
        <Section id="states" title="States">
          <Table
            class="phases"
            caption="States of the job"
            keyOf={({ status }) => status}
            rows={phases}
            columns={[
              ['State', ({ status }) => <State status={status} />],
              ['From', ({ from, begun }) => (begun ? <Time iso={from} /> : 'to come'), 'when'],
              ['Time', ({ from, until }) => (until ? between(from, until) : '–'), 'number'],
            ]}
          />
        </Section>
        <Section id="record" title="Record">
          <Facts
            facts={[
              ['Rows', `${count(job.completed_rows)} of ${count(job.total_rows)} completed`],
              ['Kind', `${kind}, region ${job.region}`],
              ['Accepted', <Time iso={job.start_time} />],
              ['Ended', job.end_time === null ? 'not yet' : <Time iso={job.end_time} />],
              ['Took', duration(job.elapsed_time * 1_000)],
              ['Body', `${bytes(job.file_size)}, ${job.filename}`],
            ]}
          />
        </Section>
      </div>
      {ids.length > 0 && (
        <Section id="ids" title="Profiles it upserted">
          <ul class="row">
            {ids.map((id) => (
              <li key={id}>
                <Link to={to('profile', { kind, region: job.region, id })}>
                  <Data text={id} most={80} />
                </Link>
              </li>
            ))}
            {job.completed_rows > ids.length && (
              <li class="quiet">and {count(job.completed_rows - ids.length)} more</li>
            )}
          </ul>
        </Section>
      )}
      {request && (
        <Section id="request" title="Request">
          <RequestTable requests={[request]} caption="The request that created it" />
        </Section>
      )}
    </>
  );
}

const kindOf = (job: JobLine) => (job.type.startsWith('users') ? 'users' : 'companies');

const between = (from: string, until: string): string => duration(Date.parse(until) - Date.parse(from));

function rowsOf({ completed_rows, total_rows }: JobLine): string {
  return completed_rows === total_rows
    ? count(total_rows)
    : `${count(completed_rows)} / ${count(total_rows)}`;
}

function spanOf(job: JobLine, now: number): Span {
  const from = Date.parse(job.start_time);
  return { from, until: job.end_time === null ? Math.max(now, from + 1) : Date.parse(job.end_time) };
}

/** A bar of the states that the job has passed through, to scale. */
function Track({ job, now, scale, height }: Drawn & { height: number }) {
  const { until: end } = spanOf(job, now);
  const passed = job.phases
    .map(({ status, from, until }) => ({ status, from: Date.parse(from), until: until && Date.parse(until) }))
    .filter(({ from }) => from <= now);
  const x = (ms: number): number => scale.at(ms) * 1_000;
  const text = passed.map(({ status, from, until }) =>
    until === null ? status : `${status} ${duration(Math.min(now, +until) - from)}`,
  );
  return (
    <svg
      class="timeline"
      height={height}
      viewBox={`0 0 1000 ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text.join(', ')}
    >
      <rect class="ground" width="1000" height={height} />
      {scale.gaps.map((gap) => (
        <rect key={gap} class="gap" x={gap * 1_000 - 3} width="6" height={height} />
      ))}
      {passed.map(({ status, from, until }) => {
        // The end is always marked, however short the job was.
        const least = status === 'completed' || status === 'failed' ? 6 : 2;
        const width = Math.max(x(Math.min(+(until ?? end), end)) - x(from), least);
        const left = Math.min(x(from), 1_000 - width);
        return <rect key={status} class={stateColor(status)} x={left} width={width} height={height} />;
      })}
    </svg>
  );
}
