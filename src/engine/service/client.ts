/** The client of the service, with all seven operations of the specification. */

import { ConfigError, ContractError, type ProfilesError, ServiceError, UsageError } from '../errors.js';
import type { Kind } from '../model.js';
import { NUMBERS } from '../options.js';
import type { Clock } from '../util/clock.js';
import { isObject } from '../util/json-object.js';
import { jobSegment, type ProxyEnv, parseBaseUrl } from './address.js';
import type { Answer, ReadDecision } from './answer.js';
import type { Job, LookupRecord } from './contract.js';
import { EarlierReplies } from './earlier-replies.js';
import type { Request } from './exchange.js';
import { type LookupList, PATHS } from './names.js';
import { oneLine, parseJson, type Reply, requestNote, whatCame } from './reply.js';
import { type Retry, retried } from './retry.js';
import { createTransport, type LogEntry } from './transport.js';

export type { ProxyEnv } from './address.js';
export type { Answer } from './answer.js';
export type { LogEntry } from './transport.js';

/** A client of the service. */
export interface ServiceClient {
  readonly baseUrl: string;
  readonly lookupBaseUrl: string | null;
  /**
   * Submits a bulk request (spec: Endpoints 1 and 3), once. A network failure is an answer, too.
   * @param body JSON in UTF-8, which is sent unchanged
   * @param ready called right before the first byte is written. If it throws, nothing is sent
   * @param written called when the request was accepted and nothing reads `body` anymore; not called if that
   * is unknown
   * @throws the signal's reason when it is aborted; the error of `ready`
   */
  submit(
    kind: Kind,
    body: Uint8Array,
    signal?: AbortSignal,
    ready?: () => void,
    written?: () => void,
  ): Promise<Answer>;
  /**
   * Submits one company (spec: Endpoint 2) in the same way.
   * @param body `{"company_id": …, "metadata": {…}}`
   */
  identifyCompany(body: Uint8Array, signal?: AbortSignal): Promise<Answer>;
  /**
   * Reads a job (spec: Endpoint 4), with retries.
   * @throws AuthError, ServiceError (its `status` is 404 if there is no such job), NetworkError,
   * ContractError
   */
  job(jobId: string, signal?: AbortSignal): Promise<Job>;
  /**
   * Reads a lookup list (spec: Endpoints 5 to 7), with retries.
   * @returns `text`: the array as it was received
   * @throws ConfigError without a lookup host, AuthError, ServiceError, NetworkError, ContractError
   */
  lookup(list: LookupList, signal?: AbortSignal): Promise<{ text: string; records: LookupRecord[] }>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** A job poll or a lookup that is about to be retried. */
export interface ReadRetry {
  /** The attempt that failed, from 1. */
  attempt: number;
  delayMs: number;
  reason: string;
}

export interface ClientOptions {
  baseUrl: string;
  /** Null if none is configured. Then `lookup` throws ConfigError. */
  lookupBaseUrl: string | null;
  token: string;
  /** Milliseconds for one request, from connecting to the last byte of its reply. */
  timeoutMs: number;
  /** For pauses, durations, and `Retry-After` dates. */
  clock: Clock;
  /** Milliseconds for a connection. Default: 10,000. */
  connectTimeoutMs?: number;
  /** Number of retries of a job poll or a lookup. Default: 5. */
  retries?: number;
  /** Longest delay before the first retry, in milliseconds. Doubles with each retry. Default: 1,000. */
  retryDelayMs?: number;
  /**
   * A longer `Retry-After` ends the retries, in milliseconds. Does not limit the backoff. Default: 300,000.
   */
  maxRetryAfterMs?: number;
  /** `HTTPS_PROXY`, `HTTP_PROXY`, and `NO_PROXY`; other names are ignored. Loopback never uses a proxy. */
  proxy?: ProxyEnv;
  userAgent?: string;
  /** Returns a uniform number in [0, 1), for the jitter of the backoff. Default: `Math.random`. */
  random?: () => number;
  /** Called once for each request. */
  log?: (entry: LogEntry) => void;
  /** See `TransportOptions`. */
  compiling?: (compile: () => void) => void;
  onRetry?: (retry: ReadRetry) => void;
}

const MIB = 1 << 20;
const MAX_LOOKUP = 64 * MIB;
const MAX_REPLY = 8 * MIB;

/**
 * Creates a client. It opens no socket before the first request. The schemas of replies are loaded with the
 * first reply, so that the first request does not wait for them.
 * @throws ConfigError if a base URL or a proxy setting is not a URL; UsageError for a token that cannot be in
 * a header
 */
export function createClient(options: ClientOptions): ServiceClient {
  const { baseUrl, lookupBaseUrl, token, clock } = options;
  // Checked here, because the error of Node would print the whole header with the token.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new UsageError('the token is empty or contains white space, control or non-ASCII characters', {
      hint: 'copy the API key again from the environment settings of the account',
    });
  }
  const base = parseBaseUrl(baseUrl, 'base_url');
  const lookupBase = lookupBaseUrl === null ? null : parseBaseUrl(lookupBaseUrl, 'lookup_base_url');
  const transport = createTransport({
    token,
    userAgent: options.userAgent ?? 'profiles-cli',
    timeoutMs: options.timeoutMs,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    proxy: options.proxy ?? {},
    monotonic: () => clock.monotonic(),
    log: options.log,
    compiling: options.compiling,
  });

  const reading = {
    retries: options.retries ?? NUMBERS.retries.default,
    retryDelayMs: options.retryDelayMs ?? NUMBERS.retryDelayMs.default,
    maxRetryAfterMs: options.maxRetryAfterMs ?? NUMBERS.maxRetryAfterMs.default,
    busyTimeoutMs: 0,
  };
  const earlier = new EarlierReplies();
  /** The common part of all requests to the base URL, with replies that are compared with earlier ones. */
  const asking = (method: 'GET' | 'POST', path: string): Omit<Request, 'body'> => ({
    method,
    base,
    path,
    maxReplyBytes: MAX_REPLY,
    inspect: (reply, fresh) => earlier.inspect({ method, path }, reply, fresh),
  });
  const post = (
    path: string,
    body: Uint8Array,
    signal?: AbortSignal,
    on?: Pick<Request, 'ready' | 'written'>,
  ): Promise<Answer> => transport.exchange({ ...asking('POST', path), body, ...on }, signal);

  /** @param refine what is thrown in place of the error that ends the attempts */
  async function read(
    request: Request,
    signal?: AbortSignal,
    refine = (error: ProfilesError, _answer: Answer): ProfilesError => error,
  ): Promise<Extract<ReadDecision, { do: 'use' }>> {
    let answer!: Answer;
    const attempt = async (): Promise<ReadDecision> => {
      answer = await transport.exchange(request, signal);
      return (await import('./answer.js')).classifyRead(answer, clock.now());
    };
    const onRetry = ({ reason }: Retry, delayMs: number, attempt: number): void => {
      signal?.throwIfAborted(); // then there is no retry to report
      options.onRetry?.({ attempt, delayMs, reason });
    };
    const random = options.random ?? Math.random;
    const decision = await retried(attempt, reading, { clock, random, signal, onRetry });
    if (decision.do === 'stop') throw refine(decision.last ?? decision.error, answer);
    return decision;
  }

  return {
    baseUrl,
    lookupBaseUrl,
    submit: (kind, body, signal, ready, written) =>
      post(kind === 'companies' ? PATHS.bulkCompanies : PATHS.bulkUsers, body, signal, { ready, written }),
    identifyCompany: (body, signal) => post(PATHS.identifyCompany, body, signal),
    job: async (jobId, signal) => {
      const path = PATHS.jobs + jobSegment(jobId);
      const { value, reply } = await read(asking('GET', path), signal, (error, answer) =>
        unknownJob(error, answer, jobId),
      );
      const { jobSchema } = await import('./contract.js');
      const job = jobSchema.safeParse(value);
      if (job.success) return job.data;
      const issue = job.error.issues[0];
      const what =
        issue && issue.path.length > 0 ? `${issue.path.join('.')}: ${issue.message}` : whatCame(reply);
      throw contractError(`the reply for job ${oneLine(jobId)} is not a job record: ${what}`, reply);
    },
    lookup: async (list, signal) => {
      if (!lookupBase) {
        throw new ConfigError('no lookup host is set', { problem: { code: 'no_lookup_host' } });
      }
      const path = PATHS.lookups + list;
      const request: Request = { method: 'GET', base: lookupBase, path, maxReplyBytes: MAX_LOOKUP };
      const { value, reply } = await read(request, signal);
      if (Array.isArray(value) && value.every(isObject)) return { text: reply.body, records: value };
      const item = Array.isArray(value) ? value.findIndex((record) => !isObject(record)) : -1;
      const what = item === -1 ? whatCame(reply) : `an array whose item ${item + 1} is not an object`;
      throw contractError(
        `the lookup list ${list} should be an array of records, but the service sent ${what}`,
        reply,
      );
    },
    close: () => transport.close(),
  };
}

/** Makes a 404 for a job say that the job was not found, unless its body is not JSON: then it comes from another server. */
function unknownJob(error: ProfilesError, answer: Answer, jobId: string): ProfilesError {
  if (!(error instanceof ServiceError) || error.status !== 404 || answer.type !== 'reply') return error;
  if (answer.body.trim() !== '' && parseJson(answer.body) === undefined) return error;
  return new ServiceError(`job ${oneLine(jobId)} not found: ${error.message}`, {
    status: 404,
    requestId: error.requestId,
    hint: 'check the id, and that the region and the account are those of its import',
  });
}

function contractError(message: string, reply: Reply): ProfilesError {
  return new ContractError(message + requestNote(reply), {
    status: reply.status,
    requestId: reply.requestId ?? undefined,
    hint: "the response does not match the service's specification; check the base URLs, or contact the operator",
  });
}
