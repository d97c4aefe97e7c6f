/** The views of all jobs, with how far each is, and of one job. */
import { type Reply, type Route, to, withQuery } from './data.js';
import { bytes, count, duration, plural, shortJob, stateColor } from './format.js';
import {
  type Column,
  Detail,
  Empty,
  Facts,
  ImportLines,
  Link,
  List,
  Section,
  State,
  Table,
  Time,
  useShell,
} from './parts.js';
import { ProfileLink } from './profiles.js';
import { RequestTable } from './requests.js';

type JobLine = Reply<'GET /jobs'>['jobs'][number];
/** A job at a time. */
type Seen = JobLine & { now: number };

const COLUMNS: readonly Column<Seen>[] = [
  ['Job', (job) => <JobLink job={job} />],
  ['Status', ({ status }) => <State status={status} />],
  ['States', (job) => <Track job={job} />, 'track'],
  ['Rows', (job) => rowsOf(job), 'number'],
  ['Accepted', ({ start_time }) => <Time iso={start_time} />, 'when'],
];

const kindOf = ({ type }: JobLine) => (type.startsWith('users') ? 'users' : 'companies');

const rowsOf = ({ completed_rows: done, total_rows: all }: JobLine): string =>
  done === all ? count(all) : `${count(done)} / ${count(all)}`;

const JobLink = ({ job }: { job: JobLine }) => (
  <>
    <Link to={to('job', { id: job.job_id })}>{shortJob(job.job_id)}</Link>{' '}
    <span class="quiet">{kindOf(job) + (job.region === 'eu' ? ', eu' : '')}</span>
  </>
);

export function Jobs({ route }: { route: Route }) {
  const { unfinished = 0, failed = 0 } = useShell().overview?.jobs ?? {};
  return (
    <List<Reply<'GET /jobs'>, Seen>
      title="Jobs"
      route={route}
      path="jobs?"
      sum={({ total }) =>
        [
          plural(total, 'job'),
          ...(unfinished > 0 ? [`${count(unfinished)} under way`] : []),
          ...(failed > 0 ? [`${count(failed)} failed`] : []),
        ].join(' · ')
      }
      rowsOf={({ jobs, now }) => jobs.map((job) => ({ ...job, now: Date.parse(now) }))}
      found={({ total }) => total}
      class="jobs"
      caption="Jobs, newest first"
      columns={COLUMNS}
      keyOf={({ job_id }) => job_id}
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
      {({ job, now, ids, request }) =>
        job === null ? (
          <Empty title="The sandbox has no job with this id">It may have been erased by a reset.</Empty>
        ) : (
          <>
            <JobBody job={{ ...job, now: Date.parse(now) }} ids={ids} />
            {request && (
              <Section title="Request">
                <RequestTable requests={[request]} caption="The request that created it" />
              </Section>
            )}
          </>
        )
      }
    </Detail>
  );
}

const PHASES: readonly Column<JobLine['phases'][number] & { begun: boolean }>[] = [
  ['State', ({ status }) => <State status={status} />],
  ['From', ({ from, begun }) => (begun ? <Time iso={from} /> : 'to come'), 'when'],
  ['Time', ({ from, until }) => (until ? duration(Date.parse(until) - Date.parse(from)) : '–'), 'number'],
];

function JobBody({ job, ids }: { job: Seen; ids: string[] }) {
  const { region } = job;
  const kind = kindOf(job);
  const phases = job.phases.map((phase) => ({ ...phase, begun: Date.parse(phase.from) <= job.now }));
  return (
    <>
      <p class="quiet">
        <code>{job.job_id}</code>
      </p>
      <Track job={job} />
      {job.status === 'failed' && <p class="note warn">A failed job changes no profile.</p>}
      <div class="columns">
        <Section title="States">
          <Table
            class="phases"
            caption="States of the job"
            keyOf={({ status }) => status}
            rows={phases}
            columns={PHASES}
          />
        </Section>
        <Section title="Record">
          <Facts
            facts={[
              ['Rows', `${count(job.completed_rows)} of ${count(job.total_rows)} completed`],
              ['Kind', `${kind}, region ${region}`],
              ['Accepted', <Time iso={job.start_time} />],
              ['Ended', job.end_time === null ? 'not yet' : <Time iso={job.end_time} />],
              ['Took', duration(job.elapsed_time * 1_000)],
              ['Body', `${bytes(job.file_size)}, ${job.filename}`],
            ]}
          />
        </Section>
      </div>
      {ids.length > 0 && (
        <Section title="Profiles it upserted">
          <ul class="row">
            {ids.map((id) => (
              <li key={id}>
                <ProfileLink route={to('profile', { kind, region, id })} />
              </li>
            ))}
            {job.completed_rows > ids.length && (
              <li class="quiet">and {count(job.completed_rows - ids.length)} more</li>
            )}
          </ul>
        </Section>
      )}
    </>
  );
}

/** A bar of the states that the job has passed through, to scale; what is to come is empty. */
function Track({ job: { phases, now } }: { job: Seen }) {
  const last = phases.at(-1)!;
  const begin = Date.parse(phases[0]!.from);
  // Where a job stays, it is still on its way; where it ends, the end is marked.
  const length = Math.max(Date.parse(last.from), stays(last) ? now : 0, begin + 1) - begin;
  const x = (ms: number): number => ((ms - begin) / length) * 970;
  const passed = phases
    .map(({ status, from, until }) => ({
      status,
      from: Date.parse(from),
      until: until === null ? null : Date.parse(until),
    }))
    .filter(({ from }) => from <= now);
  const text = passed.map(({ status, from, until }) =>
    until === null ? status : `${status} ${duration(Math.min(now, until) - from)}`,
  );
  return (
    <svg viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label={text.join(', ')}>
      <rect class="ground" width="1000" height="14" />
      {passed.map(({ status, from, until }) => {
        const end = until === null ? 1_000 : x(Math.min(now, until));
        return <rect key={status} class={stateColor(status)} x={x(from)} width={end - x(from)} height="14" />;
      })}
    </svg>
  );
}

const stays = ({ status }: { status: string }): boolean => status !== 'completed' && status !== 'failed';
