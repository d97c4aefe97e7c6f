/**
 * Decides what to do about an answer (contract §4 "What becomes of an answer"). Pure. `classify` is for bulk
 * requests. `classifyRead` is for job polls and lookups, which can be repeated without harm.
 */
import {
  AuthError,
  ContractError,
  type ErrorDetails,
  NetworkError,
  type ProfilesError,
  ServiceError,
} from '../errors.js';
import { isObject } from '../json-object.js';
import type { Problem } from '../problems.js';
import { isJobId } from './address.js';
import { type Job, jobSchema } from './contract.js';
import { isRedacted } from './redact.js';
import { errorCodeOf, replyMessage } from './reply-error.js';
import { isHtml, oneLine, parseJson, requestNote, statusLine, whatCame } from './reply-text.js';
import { parseHttpDate, parseRetryAfter } from './retry.js';

/** The result of one request. */
export type Answer =
  /** A complete reply was read. */
  | {
      type: 'reply';
      /** HTTP status. */
      status: number;
      /** The `Retry-After` header. */
      retryAfter: string | null;
      /** The `Date` header: when the service sent it. */
      date?: string | null;
      requestId: string | null;
      contentType: string | null;
      /** A compression of the body that cannot be undone. */
      coding?: string | undefined;
      body: string;
      /** URL of the request. */
      url?: string;
      /** The target of a redirect, which is never followed. */
      location?: string | null;
      /** A problem with the reply, such as a repeated job id. */
      warning?: string;
    }
  /** Nothing was sent: host not found, connection refused or timed out, or TLS failed (`tls`). */
  | { type: 'unsent'; reason: string; tls: boolean; hint?: string; problem?: Problem }
  /**
   * All or a part of it was sent, and its outcome is unknown: the connection broke, or the deadline passed.
   */
  | {
      type: 'lost';
      reason: string;
      problem?: Problem;
      /** The reply is too long. */
      oversize?: true;
    };

type Advice = Pick<ErrorDetails, 'hint' | 'problem'>;

export type Reply = Extract<Answer, { type: 'reply' }>;

/** What to do about a bulk request. `error` ends the run if there are no further attempts. */
export type Decision =
  /** Accepted. Never sent again. */
  | { do: 'accept'; job: Job }
  /** Accepted, but there is no job to follow. Never sent again. */
  | { do: 'accept_untraceable'; reason: string }
  /** Retry after a backoff. `maybeSent`: it may have arrived, so the report lists it. */
  | { do: 'retry'; maybeSent: boolean; reason: string; error: ProfilesError }
  /**
   * A success that is not from the service, such as a page of a captive portal. Retry, but not after two in a
   * row.
   */
  | { do: 'doubt'; reason: string; error: ProfilesError }
  /** Retry after `waitMs`, or after a backoff if it is null. The caller limits the wait. */
  | { do: 'wait'; waitMs: number | null; reason: string; error: ProfilesError }
  /** The service is busy with another job. Retry until the time limit of the caller. */
  | { do: 'busy'; reason: string; error: ProfilesError }
  /** Too large. Send its halves. */
  | { do: 'halve'; reason: string; error: ProfilesError }
  /** The service refused its content. */
  | { do: 'refuse'; error: ServiceError }
  /** End the run: any other request would fail, too. */
  | { do: 'stop'; error: ProfilesError };

/**
 * What a success must contain. For a single company, the specification does not show it (spec: Endpoint 2).
 */
export type Expected = 'job' | 'anything';

/**
 * Decides what to do about the answer to a bulk request, in the order of the table in the contract.
 * @param nowMs wall clock, for a `Retry-After` with a date if the reply has no date of its own
 */
export function classify(answer: Answer, nowMs: number, expected: Expected = 'job'): Decision {
  if (answer.type !== 'reply') {
    const { reason } = answer;
    const error = noAnswer(answer);
    if (answer.type === 'unsent' && answer.tls) return { do: 'stop', error };
    return { do: 'retry', maybeSent: answer.type === 'lost', reason, error };
  }
  const { status } = answer;
  if (status >= 200 && status < 300) return acceptance(answer, expected);
  const reason = replyMessage(answer);
  const fatal = fatalError(answer);
  if (fatal) return { do: 'stop', error: fatal };
  const error = refusal(answer);
  switch (status) {
    case 408:
      return { do: 'retry', maybeSent: true, reason, error };
    case 409:
      return { do: 'busy', reason, error };
    case 413:
      return { do: 'halve', reason, error };
    case 503:
      // Without `Retry-After`, it may come from a gateway, maybe after the service has accepted the request.
      if (answer.retryAfter === null) return { do: 'retry', maybeSent: true, reason, error };
      return { do: 'wait', waitMs: retryAfterMs(answer, nowMs), reason, error };
    case 429:
      return { do: 'wait', waitMs: retryAfterMs(answer, nowMs), reason, error };
  }
  return status < 500 ? { do: 'refuse', error } : { do: 'retry', maybeSent: true, reason, error };
}

/** Milliseconds to wait. The clock of this machine may be wrong, so a date is relative to the one of the reply. */
const retryAfterMs = ({ retryAfter, date = null }: Reply, nowMs: number): number | null =>
  parseRetryAfter(retryAfter, parseHttpDate(date) ?? nowMs);

/** What to do about the answer to a job poll or a lookup. */
export type ReadDecision =
  /** `value` is the parsed body. */
  | { do: 'use'; reply: Reply; value: unknown }
  /** A temporary failure. Retry after `waitMs`, or after a backoff if it is null. */
  | { do: 'again'; waitMs: number | null; reason: string; error: ProfilesError }
  | { do: 'stop'; error: ProfilesError };

const PASSING = new Set([408, 409, 429]);

/** Decides what to do about the answer to a job poll or a lookup. @param nowMs as in `classify` */
export function classifyRead(answer: Answer, nowMs: number): ReadDecision {
  if (answer.type !== 'reply') {
    const error = noAnswer(answer);
    const final = answer.type === 'unsent' ? answer.tls : answer.oversize === true;
    return final ? { do: 'stop', error } : { do: 'again', waitMs: null, reason: answer.reason, error };
  }
  const { status } = answer;
  if (status >= 200 && status < 300) {
    const value = parseJson(answer.body);
    if (value !== undefined) return { do: 'use', reply: answer, value };
    const error = notJson(answer);
    // An HTML page means a wrong address, which stays wrong. Broken JSON may be a reply without a length that
    // was cut off.
    return isHtml(answer)
      ? { do: 'stop', error }
      : { do: 'again', waitMs: null, reason: error.message, error };
  }
  const fatal = fatalError(answer);
  if (fatal) return { do: 'stop', error: fatal };
  if (status < 500 && !PASSING.has(status)) {
    return {
      do: 'stop',
      error: refusal(answer, {
        hint: 'check the base URL and, for a job, its id',
        problem: { code: 'read_refused' },
      }),
    };
  }
  return {
    do: 'again',
    waitMs: retryAfterMs(answer, nowMs),
    reason: replyMessage(answer),
    error: refusal(answer, { hint: 'the service or a proxy is having problems; try again later' }),
  };
}

/**
 * Decides about a 2xx reply. A usable job id is enough to follow the job: a missing status counts as
 * `queued`, and a status or number of rows of a wrong type is removed.
 */
function acceptance(reply: Reply, expected: Expected): Decision {
  const value = parseJson(reply.body, true);
  if (value === undefined && (expected === 'job' || isHtml(reply))) {
    const error = notTheService(reply);
    return { do: 'doubt', reason: error.message, error };
  }
  if (!isObject(value)) return untraceable(reply, whatCame(reply));
  const record = { ...value };
  const { job_id } = record;
  if (typeof job_id !== 'string' || !isJobId(job_id) || isRedacted(job_id)) {
    return untraceable(reply, `${whatCame(reply)}, and no usable job_id`);
  }
  let job = jobSchema.safeParse(record);
  if (!job.success) {
    for (const { path } of job.error.issues) delete record[String(path[0])];
    job = jobSchema.safeParse({ status: 'queued', ...record });
  }
  return job.success ? { do: 'accept', job: job.data } : untraceable(reply, 'no readable job record');
}

function untraceable(reply: Reply, came: string): Decision {
  const reason = `accepted with ${statusLine(reply.status)}, but the reply is ${came}${requestNote(reply)}`;
  return { do: 'accept_untraceable', reason };
}

/**
 * The error for a status that means a wrong token or a wrong address, so that any request would fail;
 * otherwise null.
 */
function fatalError(reply: Reply): ProfilesError | null {
  const { status, url, location } = reply;
  const from = { status, requestId: reply.requestId ?? undefined };
  const where = url ?? 'the service';
  if (status === 401 || status === 403) {
    if (isHtml(reply)) {
      const hint = 'this page did not come from the service: check for a proxy, then check the API key';
      return new AuthError(`a proxy refused the request: ${replyMessage(reply)}`, { ...from, hint });
    }
    const sentence = `the service refused the token: ${replyMessage(reply)}`;
    if (status === 403) {
      const hint = 'the API key is valid but does not have permission for this: check its account and region';
      return new AuthError(sentence, { ...from, hint });
    }
    const hint = 'check the API key, and that it belongs to this region';
    return new AuthError(sentence, { ...from, hint, problem: { code: 'token_refused' } });
  }
  if (status < 200 || (status >= 300 && status < 400)) {
    const to = location ? ` to ${oneLine(location)}` : '';
    const hint = "redirects are never followed: set the base URL to the service's own address";
    return new ServiceError(`${where} redirects${to}: ${replyMessage(reply)}`, { ...from, hint });
  }
  if (status === 404 || status === 405 || status === 501 || status >= 600) {
    const hint = 'check the base URL: its host, and the path in front if there is one';
    const problem = { code: 'wrong_address' } as const;
    return new ServiceError(`${where} answered ${replyMessage(reply)}`, { ...from, hint, problem });
  }
  return null;
}

function refusal(reply: Reply, advice: Advice = {}): ServiceError {
  const from = {
    status: reply.status,
    errorCode: errorCodeOf(reply),
    requestId: reply.requestId ?? undefined,
    ...advice,
  };
  return new ServiceError(`the service answered ${replyMessage(reply)}`, from);
}

function noAnswer(answer: Exclude<Answer, Reply>): NetworkError {
  // If the failure comes with a hint of its own, that is enough.
  if (answer.type === 'unsent' && answer.hint !== undefined) {
    return new NetworkError(answer.reason, { hint: answer.hint });
  }
  return new NetworkError(answer.reason, {
    hint: 'check the network, the base URL and the proxy settings',
    problem: answer.problem ?? { code: 'no_answer' },
  });
}

/** The error for a success that is not from the service. */
function notTheService(reply: Reply): ContractError {
  const who = isHtml(reply)
    ? ': a captive portal or a proxy answers in its place'
    : ': a proxy or a captive portal may answer in its place';
  return unlike(reply, who, {
    hint: 'sign in to the network if it asks for that, and check the proxy settings and the base URL',
    problem: { code: 'not_the_service' },
  });
}

const notJson = (reply: Reply): ContractError =>
  unlike(reply, '', { hint: 'check the base URL: is it the service itself?' });

function unlike(reply: Reply, who: string, advice: Advice): ContractError {
  const { status, url } = reply;
  const came = `${statusLine(status)} with ${whatCame(reply)}`;
  const from = { status, requestId: reply.requestId ?? undefined, ...advice };
  return new ContractError(`${url ?? 'the service'} answered ${came}${requestNote(reply)}${who}`, from);
}
