/** The views of the request log, and of one request. */
import { type Reply, type Route, to, withQuery } from './data.js';
import { bytes, duration, plural, shortJob } from './format.js';
import { type Column, Data, Empty, Facts, Link, List, Table, Time, useShell, View } from './parts.js';

type RequestLine = Reply<'GET /requests'>['requests'][number];

const FILTERS = {
  all: 'All',
  writes: 'Writes',
  polls: 'Job polls',
  lookups: 'Lookups',
  problems: 'Problems',
};

const COLUMNS: readonly Column<RequestLine>[] = [
  ['#', ({ n }) => <Link to={to('request', { n })}>{n}</Link>, 'number'],
  ['Status', (request) => <Status request={request} />],
  ['Request', (request) => <Asked request={request} />],
  ['Result', (request) => <Result request={request} />, 'wide'],
  ['Time', ({ duration_ms }) => duration_ms !== null && duration(duration_ms), 'number mid'],
  ['At', ({ time }) => <Time iso={time} />, 'when'],
];
const TABLE = { class: 'requests', columns: COLUMNS, keyOf: ({ n }: RequestLine): number => n };

export const RequestTable = (props: { requests: readonly RequestLine[]; caption: string }) => (
  <Table {...TABLE} caption={props.caption} rows={props.requests} />
);

export function Requests({ route }: { route: Route }) {
  const { only } = route;
  return (
    <List<Reply<'GET /requests'>, RequestLine>
      {...TABLE}
      title="Requests"
      caption="Requests, newest first"
      route={route}
      path={withQuery('requests', { only })}
      revision={useShell().overview?.revisions.requests}
      sum={({ total }) => plural(total, 'request')}
      rowsOf={({ requests }) => requests}
      found={({ total }) => total}
      tools={
        <nav class="row" aria-label="Which requests">
          {Object.entries(FILTERS).map(([value, text]) => (
            <Link key={value} to={to('requests', { only: value })} current={only === value}>
              {text}
            </Link>
          ))}
        </nav>
      }
    />
  );
}

const Asked = ({ request: { method, path, fault } }: { request: RequestLine }) => (
  <>
    <span class="quiet">{method}</span>{' '}
    <code>
      <Data text={path} most={2_000} />
    </code>{' '}
    {fault !== null && (
      <code class="pill warn">
        <span class="unseen">fault </span>
        {fault}
      </code>
    )}
  </>
);

function Status({ request: { status, duration_ms } }: { request: RequestLine }) {
  const tone = ['', '', 'good', 'warn', 'warn', 'bad'][Math.floor((status ?? 0) / 100)];
  if (status !== null) return <span class={`pill ${tone}`}>{status}</span>;
  return duration_ms === null ? <span class="pill">open</span> : <span class="pill bad">cut off</span>;
}

/** What was accepted, or why nothing was. */
function Result({ request: { accepted, error } }: { request: RequestLine }) {
  if (accepted === null) return error === null ? null : <Data text={error} />;
  const { items, kind, job_id } = accepted;
  return (
    <>
      {kind === 'users' ? plural(items, 'user') : plural(items, 'company', 'companies')}{' '}
      {job_id !== null && <Link to={to('job', { id: job_id })}>{shortJob(job_id)}</Link>}
      {error !== null && <span class="quiet"> (taken, but not said so)</span>}
    </>
  );
}

export const Request = ({ route: { n } }: { route: Route }) => (
  <View<Reply<'GET /request'>>
    back={['Requests', to('requests')]}
    title={`Request ${n}`}
    path={withQuery('request', { n })}
    revision={useShell().overview?.revisions.requests}
    sum={({ request }) => request && <Status request={request} />}
  >
    {({ request }) =>
      request === null ? (
        <Empty title="This request is not in the log">The log begins again with each start and reset.</Empty>
      ) : (
        <Facts facts={factsOf(request)} />
      )
    }
  </View>
);

function factsOf(request: RequestLine) {
  const { accepted, duration_ms, error, listener, status, time } = request;
  const answered = `${status ?? 'the reply was cut off, or never sent'}, after ${duration(duration_ms ?? 0)}`;
  const refused = error === null ? 'nothing was written' : 'refused: nothing was written';
  return [
    ['Request', <Asked request={request} />],
    ['Arrived', <Time iso={time} />],
    ['At', listener === 'lookup' ? 'the lookups' : `region ${listener}`],
    ['Answered', duration_ms === null ? 'not yet' : answered],
    ['Error', error && <Data text={error} />],
    ['Result', accepted === null ? refused : <Result request={request} />],
    ['Body', accepted && `${bytes(accepted.bytes)}, SHA-256 ${accepted.sha256}`],
    ['x-request-id', request.request_id],
  ] as const;
}
