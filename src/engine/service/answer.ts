/**
 * Decides what to do about an answer (contract §4 "What becomes of an answer"). Pure. `classify` is for bulk
 * requests, `classifyRead` for job polls and lookups, which can be repeated without harm.
 */
import {
  AuthError,
  ContractError,
  type ErrorDetails,
  NetworkError,
  type ProfilesError,
  ServiceError,
} from '../errors.js';
import type { Problem } from '../problems.js';
import { isObject } from '../util/json-object.js';
import { isJobId } from './address.js';
import { type Job, jobSchema } from './contract.js';
import {
  errorCodeOf,
  errorsOf,
  isHtml,
  isRedacted,
  isSuccess,
  oneLine,
  parseJson,
  type Reply,
  replyMessage,
  requestNote,
  statusLine,
  whatCame,
} from './reply.js';
import { parseHttpDate, parseRetryAfter, type Retry, type Stop } from './retry.js';

/** The result of one request. */
export type Answer =
  | Reply
  /** Nothing was sent: host not found, connection refused or timed out, or TLS failed (`tls`). */
  | { type: 'unsent'; reason: string; tls: boolean; hint?: string; problem?: Problem }
  /** All or a part of it was sent, and its outcome is unknown. */
  | { type: 'lost'; reason: string; problem?: Problem };

/** What to do about a bulk request. `error` ends the run if there are no further attempts. */
export type Decision =
  /** Accepted, and never sent again. Without a job to follow, `reason` says why. */
  | { do: 'accept'; job: Job | null; reason: string | null }
  | Retry
  /** Too large. Send its halves. */
  | { do: 'halve'; error: ServiceError }
  /** The service refused its content. */
  | { do: 'refuse'; error: ServiceError }
  /** End the run: any other request would fail, too. */
  | Stop;

/** What to do about the answer to a job poll or a lookup. `value` is the parsed body. */
export type ReadDecision = { do: 'use'; reply: Reply; value: unknown } | Retry | Stop;

/** What a success must contain. For a single company, the specification does not show it (spec: Endpoint 2). */
export type Expected = 'job' | 'anything';

/** What to do about a kind of status. */
interface Rule {
  is: (status: number, reply: Reply) => boolean;
  /** Given for what means a wrong token or address: no further request. */
  error?: (reply: Reply) => ProfilesError;
  /** About a bulk request. Default: the service refused its content. What may be made again may be read again, too. */
  bulk?: 'halve' | Retry['why'];
  /** Whether the service may have accepted a bulk request all the same. */
  maybeSent?: true;
}

/** The first that fits counts. */
const RULES: readonly Rule[] = [
  { is: (status) => status === 401 || status === 403, error: refusedToken },
  { is: (status) => status < 200 || (status >= 300 && status < 400), error: redirected },
  { is: (status) => [404, 405, 501].includes(status) || status >= 600, error: wrongAddress },
  { is: (status) => status === 409, bulk: 'busy' },
  { is: (status) => status === 413, bulk: 'halve' },
  { is: (status) => status === 429, bulk: 'failure' },
  // Without `Retry-After`, it may come from a gateway, maybe after the service has accepted the request.
  { is: (status, { retryAfter }) => status === 503 && retryAfter !== null, bulk: 'failure' },
  { is: (status) => status === 408 || status >= 500, bulk: 'failure', maybeSent: true },
  { is: () => true },
];

/**
 * Decides what to do about the answer to a bulk request.
 * @param nowMs wall clock, for a `Retry-After` with a date if the reply has no date of its own
 */
export function classify(answer: Answer, nowMs: number, expected: Expected = 'job'): Decision {
  if (answer.type !== 'reply') return unanswered(answer);
  if (isSuccess(answer)) return acceptance(answer, expected);
  const { bulk, maybeSent = false, error: errorOf } = ruleOf(answer);
  if (errorOf) return stop(errorOf(answer));
  const error = refusal(answer);
  if (!bulk || bulk === 'halve') return { do: bulk ?? 'refuse', error };
  const waitMs = maybeSent ? null : retryAfterMs(answer, nowMs);
  return again(error, { why: bulk, maybeSent, reason: replyMessage(answer), waitMs });
}

/** Decides what to do about the answer to a job poll or a lookup. @param nowMs as in `classify` */
export function classifyRead(answer: Answer, nowMs: number): ReadDecision {
  if (answer.type !== 'reply') return unanswered(answer);
  if (isSuccess(answer)) {
    const value = parseJson(answer.body);
    if (value !== undefined) return { do: 'use', reply: answer, value };
    const error = unlike(answer, '', { hint: 'check the base URL: is it the service itself?' });
    // An HTML page means a wrong address, which stays wrong. Broken JSON may be a reply without a length that
    // was cut off.
    return isHtml(answer) ? stop(error) : again(error);
  }
  const rule = ruleOf(answer);
  if (rule.error) return stop(rule.error(answer));
  if (!rule.bulk || rule.bulk === 'halve') {
    const hint = 'check the base URL and, for a job, its id';
    return stop(refusal(answer, { hint, problem: { code: 'read_refused' } }));
  }
  const error = refusal(answer, { hint: 'the service or a proxy is having problems; try again later' });
  return again(error, { reason: replyMessage(answer), waitMs: retryAfterMs(answer, nowMs) });
}

const ruleOf = (reply: Reply): Rule => RULES.find(({ is }) => is(reply.status, reply))!;

const stop = (error: ProfilesError): Stop => ({ do: 'stop', reason: error.message, error });

const again = (error: ProfilesError, more: Partial<Retry> = {}): Retry => ({
  ...{ do: 'retry', why: 'failure', maybeSent: false, waitMs: null, reason: error.message },
  ...more,
  error,
});

/** Milliseconds to wait. The clock of this machine may be wrong, so a date is relative to the one of the reply. */
const retryAfterMs = ({ retryAfter, date = null }: Reply, nowMs: number): number | null =>
  parseRetryAfter(retryAfter, parseHttpDate(date) ?? nowMs);

/**
 * Decides about a 2xx reply. A usable job id is enough to follow the job: a missing status counts as
 * `queued`, and a status or number of rows of a wrong type is removed.
 */
function acceptance(reply: Reply, expected: Expected): Decision {
  const value = parseJson(reply.body);
  if (value === undefined && (expected === 'job' || isHtml(reply)))
    return again(notTheService(reply), { why: 'doubt', maybeSent: true });
  if (expected === 'anything') {
    const says = errorsOf(reply)?.length ? `accepted with ${replyMessage(reply)}` : null;
    return { do: 'accept', job: null, reason: says };
  }
  const record = isObject(value) ? { ...value } : {};
  const { job_id } = record;
  if (typeof job_id === 'string' && isJobId(job_id) && !isRedacted(job_id)) {
    const read = jobSchema.safeParse(record);
    for (const { path } of read.error?.issues ?? []) delete record[String(path[0])];
    return { do: 'accept', job: read.data ?? jobSchema.parse({ status: 'queued', ...record }), reason: null };
  }
  const came = whatCame(reply) + (isObject(value) ? ', and no usable job_id' : '');
  const reason = `accepted with ${statusLine(reply.status)}, but the reply is ${came}${requestNote(reply)}`;
  return { do: 'accept', job: null, reason };
}

const details = ({ status, requestId }: Reply, advice: ErrorDetails): ErrorDetails => ({
  ...{ status, requestId: requestId ?? undefined },
  ...advice,
});

function refusedToken(reply: Reply): ProfilesError {
  const by = isHtml(reply) ? 'a proxy refused the request' : 'the service refused the token';
  const advice: ErrorDetails = isHtml(reply)
    ? { hint: 'this page did not come from the service: check for a proxy, then check the API key' }
    : reply.status === 403
      ? { hint: 'the API key is valid but does not have permission for this: check its account and region' }
      : { hint: 'check the API key, and that it belongs to this region', problem: { code: 'token_refused' } };
  return new AuthError(`${by}: ${replyMessage(reply)}`, details(reply, advice));
}

function redirected(reply: Reply): ProfilesError {
  const to = reply.location ? ` to ${oneLine(reply.location)}` : '';
  const advice = { hint: "redirects are never followed: set the base URL to the service's own address" };
  return new ServiceError(`${placeOf(reply)} redirects${to}: ${replyMessage(reply)}`, details(reply, advice));
}

function wrongAddress(reply: Reply): ProfilesError {
  const hint = 'check the base URL: its host, and the path in front if there is one';
  const advice = { hint, problem: { code: 'wrong_address' } } as const;
  return new ServiceError(`${placeOf(reply)} answered ${replyMessage(reply)}`, details(reply, advice));
}

const refusal = (reply: Reply, advice: ErrorDetails = {}): ServiceError =>
  new ServiceError(
    `the service answered ${replyMessage(reply)}`,
    details(reply, { ...advice, errorCode: errorCodeOf(reply) }),
  );

function unanswered(answer: Exclude<Answer, Reply>): Retry | Stop {
  const { type, reason, problem = { code: 'no_answer' } } = answer;
  // If the failure comes with a hint of its own, that is enough.
  const own = type === 'unsent' && answer.hint !== undefined;
  const hint = 'check the network, the base URL and the proxy settings';
  const error = new NetworkError(reason, own ? { hint: answer.hint } : { hint, problem });
  return type === 'unsent' && answer.tls ? stop(error) : again(error, { maybeSent: type === 'lost' });
}

/** The error for a success that is not from the service. */
function notTheService(reply: Reply): ContractError {
  const who = isHtml(reply)
    ? ': a captive portal or a proxy answers in its place'
    : ': a proxy or a captive portal may answer in its place';
  const hint = 'sign in to the network if it asks for that, and check the proxy settings and the base URL';
  return unlike(reply, who, { hint, problem: { code: 'not_the_service' } });
}

function unlike(reply: Reply, who: string, advice: ErrorDetails): ContractError {
  const came = `${statusLine(reply.status)} with ${whatCame(reply)}${requestNote(reply)}`;
  return new ContractError(`${placeOf(reply)} answered ${came}${who}`, details(reply, advice));
}

const placeOf = ({ url }: Reply): string => url ?? 'the service';
