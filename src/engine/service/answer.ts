/**
 * What becomes of an answer (contract §4): pure decisions, no I/O. `classify` is the contract's table for a
 * bulk request; `classifyRead` is its counterpart for job polls and lookups, which may be asked again freely.
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
import { isJobId } from './address.js';
import { type Job, jobSchema } from './contract.js';
import { errorCodeOf, replyMessage } from './reply-error.js';
import { isHtml, oneLine, parseJson, requestNote, statusLine, whatCame } from './reply-text.js';
import { parseHttpDate, parseRetryAfter } from './retry.js';

/** How one request was answered. */
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
      body: string;
      /** Address of the request. */
      url?: string;
      /** Where a redirect points. It is never followed. */
      location?: string | null;
      /** Something odd about the reply. */
      warning?: string;
    }
  /** Nothing arrived: host not found, connection refused or timed out, or TLS failed (`tls`). */
  | { type: 'unsent'; reason: string; tls: boolean; hint?: string; problem?: Problem }
  /** It was sent, or a part of it, and its outcome is unknown: the connection broke, or the deadline passed. */
  | {
      type: 'lost';
      reason: string;
      problem?: Problem;
      /** The reply is too long. */
      oversize?: true;
    };

type Advice = Pick<ErrorDetails, 'hint' | 'problem'>;

export type Reply = Extract<Answer, { type: 'reply' }>;

/** What to do about a bulk request. `error` is what ends the run when there is no further attempt. */
export type Decision =
  /** Recorded; never sent again. */
  | { do: 'accept'; job: Job }
  /** Accepted, but no job can be followed; never sent again. */
  | { do: 'accept_untraceable'; reason: string }
  /** Try again after a backoff; `maybeSent` names it in the report. */
  | { do: 'retry'; maybeSent: boolean; reason: string; error: ProfilesError }
  /** A success, but not in the service's words: what became of it is unknown. Try again, but not after two in a row. */
  | { do: 'doubt'; reason: string; error: ProfilesError }
  /** Try again after `waitMs`, or after a backoff where it is null. The bound on it is the caller's. */
  | { do: 'wait'; waitMs: number | null; reason: string; error: ProfilesError }
  /** The service works on another job: try again until the caller's patience ends. */
  | { do: 'busy'; reason: string; error: ProfilesError }
  /** Too large: cut it in two. */
  | { do: 'halve'; reason: string; error: ProfilesError }
  /** These lines are refused, with the service's words. */
  | { do: 'refuse'; error: ServiceError }
  /** No request would fare better. */
  | { do: 'stop'; error: ProfilesError };

/** What a success says: a bulk request is answered with a job; what a single company is answered with is "not shown". */
export type Expected = 'job' | 'anything';

/**
 * The contract's table, line by line.
 * @param nowMs wall clock, to which a `Retry-After` date is relative if the reply has no date of its own
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
      // A gateway says so too, maybe after the service took the request, and does not say when to come again.
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

/** What to do about the answer to a request that changes nothing. */
export type ReadDecision =
  /** `value` is the parsed body. */
  | { do: 'use'; reply: Reply; value: unknown }
  /** A passing failure: ask again after `waitMs`, or after a backoff where it is null. */
  | { do: 'again'; waitMs: number | null; reason: string; error: ProfilesError }
  | { do: 'stop'; error: ProfilesError };

const PASSING = new Set([408, 409, 429]);

/** @param nowMs as for `classify` */
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
    // A page at a wrong address stays there. Broken JSON may be a reply cut short where no length was given.
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
 * A 2xx. A job id that can be used is enough to follow the job: a missing status reads as `queued`, and a
 * field of the wrong type is left out rather than the job lost.
 */
function acceptance(reply: Reply, expected: Expected): Decision {
  const value = parseJson(reply.body);
  if (value === undefined && (expected === 'job' || isHtml(reply))) {
    const error = notTheService(reply);
    return { do: 'doubt', reason: error.message, error };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return untraceable(reply, whatCame(reply));
  }
  const record: Record<string, unknown> = { ...value };
  if (typeof record.job_id !== 'string' || !isJobId(record.job_id)) {
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

/** Answers that mean a wrong token or a wrong address: no request would fare better. */
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
  // A failure that names its own fix needs no other advice.
  if (answer.type === 'unsent' && answer.hint !== undefined) {
    return new NetworkError(answer.reason, { hint: answer.hint });
  }
  return new NetworkError(answer.reason, {
    hint: 'check the network, the base URL and the proxy settings',
    problem: answer.problem ?? { code: 'no_answer' },
  });
}

/** A success in words that are not the service's. */
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
