/** The views of the request log, and of one request. */
import type { RequestAnswer, RequestLine, RequestList } from '../wire.js';
import { useLive } from './data.js';
import { bytes, count, duration, plural } from './format.js';
import {
  Command,
  Data,
  Empty,
  Heading,
  importLines,
  Link,
  PAGE_SIZE,
  Pager,
  Table,
  Time,
  useShell,
} from './parts.js';
import { shortJob } from './profile.js';
import { type Route, withQuery } from './route.js';

const FILTERS = [
  ['all', 'All'],
  ['writes', 'Writes'],
  ['polls', 'Job polls'],
  ['lookups', 'Lookups'],
  ['problems', 'Problems'],
] as const;

export function Requests({ route }: { route: Route & { view: 'requests' } }) {
  const { overview } = useShell();
  const { only, page } = route;
  const path = withQuery('requests', { only, offset: (page - 1) * PAGE_SIZE, limit: PAGE_SIZE });
  const { data, error } = useLive<RequestList>(path, overview?.revisions.requests);
  return (
    <>
      <div class="head">
        <Heading title="Requests">Requests</Heading>
        <p class="sum">{data && plural(data.total, 'request')}</p>
      </div>
      <nav class="filters" aria-label="Which requests">
        {FILTERS.map(([value, text]) => (
          <Link key={value} to={{ view: 'requests', only: value, page: 1 }} current={only === value}>
            {text}
          </Link>
        ))}
      </nav>
      {error && <p class="problem">{error.message}</p>}
      {data === undefined && !error && <p class="quiet">Reading requests…</p>}
      {data?.total === 0 &&
        (only === 'all' ? (
          <Empty title="No requests since the sandbox started">
            <p>Point a client at it, in another terminal:</p>
            <Command lines={importLines(overview, 'companies.csv')} />
          </Empty>
        ) : (
          <Empty title="None of the requests so far">
            {only === 'problems' ? (
              <p>
                Everything was answered well. <Link to={{ view: 'settings' }}>Switch a fault on</Link> to see
                how a client bears it.
              </p>
            ) : (
              <Link to={{ view: 'requests', only: 'all', page: 1 }}>Show all</Link>
            )}
          </Empty>
        ))}
      {data !== undefined && data.requests.length > 0 && (
        <RequestTable requests={data.requests} caption="Requests, newest first" />
      )}
      {data && <Pager page={page} found={data.total} to={(to) => ({ view: 'requests', only, page: to })} />}
    </>
  );
}

export function RequestTable({ requests, caption }: { requests: readonly RequestLine[]; caption: string }) {
  return (
    <Table
      class="requests"
      caption={caption}
      head={[['#', 'number'], 'Status', 'Request', ['Result', 'wide'], ['Time', 'number mid'], 'At']}
    >
      {requests.map((request) => (
        <tr key={request.n}>
          <th scope="row" class="number">
            <Link to={{ view: 'request', n: request.n }}>{request.n}</Link>
          </th>
          <td>
            <Status request={request} />
          </td>
          <td class="path">
            <span class="method">{request.method}</span> <Data text={request.path} most={160} />
            {request.fault !== null && (
              <>
                {' '}
                <span class="fault">
                  <span class="unseen">fault </span>
                  {request.fault}
                </span>
              </>
            )}
          </td>
          <td class="wide">
            <Result request={request} />
          </td>
          <td class="number mid">{request.duration_ms === null ? '' : duration(request.duration_ms)}</td>
          <td class="when">
            <Time iso={request.time} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Status({ request: { status, duration_ms } }: { request: RequestLine }) {
  if (status !== null) return <span class={`status s${Math.floor(status / 100)}`}>{status}</span>;
  return duration_ms === null ? <span class="status">open</span> : <span class="status s5">cut off</span>;
}

function Result({ request: { accepted, error } }: { request: RequestLine }) {
  if (accepted !== null) {
    const { items, kind, job_id } = accepted;
    const what = items === 1 ? (kind === 'users' ? '1 user' : '1 company') : `${count(items)} ${kind}`;
    return (
      <>
        {what}
        {job_id !== null && (
          <>
            {' → '}
            <Link to={{ view: 'job', id: job_id }}>{shortJob(job_id)}</Link>
          </>
        )}
        {error !== null && <span class="quiet"> (taken, but not said so)</span>}
      </>
    );
  }
  return error === null ? null : <Data text={error} />;
}

export function Request({ route }: { route: Route & { view: 'request' } }) {
  const { overview } = useShell();
  const path = withQuery('request', { n: route.n });
  const { data, error, stale } = useLive<RequestAnswer>(path, overview?.revisions.requests);
  const request = stale ? undefined : data?.request;
  return (
    <>
      <p class="crumbs">
        <Link to={{ view: 'requests', only: 'all', page: 1 }}>Requests</Link>
      </p>
      <div class="head">
        <Heading title={`Request ${route.n}`}>Request {route.n}</Heading>
        {request && <Status request={request} />}
      </div>
      {error && <p class="problem">{error.message}</p>}
      {request === null && (
        <Empty title="This request is not in the log">
          <p>The log begins again with each start and each reset.</p>
        </Empty>
      )}
      {request && (
        <dl class="facts one">
          <dt>Request</dt>
          <dd class="path">
            <span class="method">{request.method}</span> <Data text={request.path} most={2_000} />
          </dd>
          <dt>Arrived</dt>
          <dd>
            <Time iso={request.time} />, at the{' '}
            {request.listener === 'lookup' ? 'lookups' : `region ${request.listener}`}
          </dd>
          <dt>Answered</dt>
          <dd>
            {request.duration_ms === null
              ? 'not yet'
              : `${request.status ?? 'the reply was cut off, or never sent'}, after ${duration(request.duration_ms)}`}
          </dd>
          {request.fault !== null && (
            <>
              <dt>Fault</dt>
              <dd>
                <span class="fault">{request.fault}</span>
              </dd>
            </>
          )}
          {request.error !== null && (
            <>
              <dt>Error</dt>
              <dd>
                <Data text={request.error} />
              </dd>
            </>
          )}
          <dt>Result</dt>
          <dd>
            {request.accepted === null && request.error === null ? (
              'nothing was written'
            ) : request.accepted === null ? (
              'refused: nothing was written'
            ) : (
              <Result
                request={{
                  ...request,
                  error: request.status === null || request.status < 300 ? null : request.error,
                }}
              />
            )}
          </dd>
          {request.accepted !== null && (
            <>
              <dt>Body</dt>
              <dd>
                {bytes(request.accepted.bytes)}, SHA-256 <code>{request.accepted.sha256}</code>
              </dd>
            </>
          )}
          <dt>
            <code>x-request-id</code>
          </dt>
          <dd>
            <code>{request.request_id}</code>
          </dd>
        </dl>
      )}
    </>
  );
}
