/** The views of all jobs, with how far each is, and of one job. */
import { type Reply, type Route, to, withQuery } from './data.js';
import { bytes, count, duration, plural, shortJob, stateColor } from './format.js';
import { type Column, Empty, Facts, Link, List, Section, State, Time, useShell, View } from './parts.js';
import { ProfileLink } from './profiles.js';
import { RequestTable } from './requests.js';

type JobLine = Reply<'GET /jobs'>['jobs'][number];

const COLUMNS: readonly Column<JobLine>[] = [
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
  const others = [
    unfinished > 0 && `${count(unfinished)} under way`,
    failed > 0 && `${count(failed)} failed`,
  ];
  return (
    <List<Reply<'GET /jobs'>, JobLine>
      title="Jobs"
      route={route}
      path="jobs?"
      sum={({ total }) => [plural(total, 'job'), ...others].filter(Boolean).join(' · ')}
      rowsOf={({ jobs }) => jobs}
      found={({ total }) => total}
      class="jobs"
      caption="Jobs, newest first"
      columns={COLUMNS}
      keyOf={({ job_id }) => job_id}
    />
  );
}

export const Job = ({ route: { id } }: { route: Route }) => (
  <View<Reply<'GET /job'>>
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
          <Track job={job} />
          {job.status === 'failed' && <p class="note warn">A failed job changes no profile.</p>}
          <Facts facts={factsOf(job, now)} />
          {ids.length > 0 && (
            <Section title="Profiles it upserted">
              <ul class="row">
                {ids.map((one) => (
                  <li key={one}>
                    <ProfileLink route={to('profile', { kind: kindOf(job), region: job.region, id: one })} />
                  </li>
                ))}
                {job.completed_rows > ids.length && (
                  <li>and {count(job.completed_rows - ids.length)} more</li>
                )}
              </ul>
            </Section>
          )}
          {request && (
            <Section title="Request">
              <RequestTable requests={[request]} caption="The request that created it" />
            </Section>
          )}
        </>
      )
    }
  </View>
);

function factsOf(job: JobLine, now: string) {
  const phases = job.phases.map(({ status, from, until }) => {
    const length = until && `, ${duration(Date.parse(until) - Date.parse(from))}`;
    const when = (
      <>
        <Time iso={from} />
        {length}
      </>
    );
    return [status, from > now ? 'to come' : when] as const;
  });
  return [
    ['Id', job.job_id],
    ['Kind', `${kindOf(job)}, region ${job.region}`],
    ['Rows', `${count(job.completed_rows)} of ${count(job.total_rows)} completed`],
    ['Body', `${bytes(job.file_size)}, ${job.filename}`],
    ...phases,
    ['Took', duration(job.elapsed_time * 1_000)],
  ] as const;
}

const SHAPE = { width: '100%', height: '14', viewBox: '0 0 1000 14', preserveAspectRatio: 'none' };

/** A bar of the states that the job has passed through, to scale; what is to come is empty. */
function Track({ job: { phases } }: { job: JobLine }) {
  const now = Date.parse(useShell().overview?.now ?? '');
  const begin = Date.parse(phases[0]!.from);
  const { status, from } = phases.at(-1)!;
  // Where a job stays, it is still on its way; where it ends, the end is marked.
  const stays = status !== 'completed' && status !== 'failed';
  const length = Math.max(Date.parse(from), stays ? now : 0, begin + 1) - begin;
  const x = (ms: number): number => ((ms - begin) / length) * 970;
  const passed = phases
    .map((phase) => ({
      ...phase,
      from: Date.parse(phase.from),
      until: phase.until && Date.parse(phase.until),
    }))
    .filter((phase) => phase.from <= now);
  const text = passed.map(({ status, from, until }) =>
    until ? `${status} ${duration(Math.min(now, until) - from)}` : status,
  );
  return (
    <svg {...SHAPE} fill="currentColor" role="img" aria-label={text.join(', ')}>
      <rect width="1000" height="14" opacity="0.1" />
      {passed.map(({ status, from, until }) => {
        const end = until ? x(Math.min(now, until)) : 1_000;
        return <rect key={status} class={stateColor(status)} x={x(from)} width={end - x(from)} height="14" />;
      })}
    </svg>
  );
}
