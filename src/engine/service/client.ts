/** The client of the service: all seven operations of the spec. */
import type { Clock } from '../clock.js';
import { ConfigError, ContractError, type ProfilesError, ServiceError, UsageError } from '../errors.js';
import type { Kind } from '../model.js';
import { NUMBERS } from '../options.js';
import { jobSegment, parseBaseUrl } from './address.js';
import type { Answer, ReadDecision } from './answer.js';
import type { Job, LookupRecord } from './contract.js';
import { EarlierReplies } from './earlier-replies.js';
import { type LookupList, PATHS } from './names.js';
import type { ProxyEnv } from './proxy.js';
import { oneLine, parseJson, requestNote, whatCame } from './reply-text.js';
import { backoffDelay } from './retry.js';
import { createTransport, type LogEntry, type Request } from './transport.js';

export type { Answer } from './answer.js';
export type { ProxyEnv } from './proxy.js';
export type { LogEntry } from './transport.js';

/** A client of the service. */
export interface ServiceClient {
  readonly baseUrl: string;
  readonly lookupBaseUrl: string | null;
  /**
   * Submits a bulk request (spec: Endpoints 1 and 3), once. `body` is JSON in UTF-8, and is sent as it is. A network
   * failure is an answer, too.
   * @throws the signal's reason when it is aborted
   */
  submit(
    kind: Kind,
    body: Uint8Array,
    signal?: AbortSignal,
    ready?: () => void,
    written?: () => void,
  ): Promise<Answer>;
  /** Submits one company (spec: Endpoint 2), in the same way. `body` is `{"company_id": …, "metadata": {…}}`. */
  identifyCompany(body: Uint8Array, signal?: AbortSignal): Promise<Answer>;
  /**
   * Asks for a job (spec: Endpoint 4), with retries.
   * @throws AuthError, ServiceError (its `status` is 404 if there is no such job), NetworkError, ContractError
   */
  job(jobId: string, signal?: AbortSignal): Promise<Job>;
  /**
   * Asks for a lookup list (spec: Endpoints 5 to 7), with retries. `text` is the array as it was received.
   * @throws ConfigError without a lookup host, AuthError, ServiceError, NetworkError, ContractError
   */
  lookup(list: LookupList, signal?: AbortSignal): Promise<{ text: string; records: LookupRecord[] }>;
  /** Closes its connections. */
  close(): Promise<void>;
}

/** A job poll or a lookup that is about to be tried again. */
export interface ReadRetry {
  /** The attempt that failed, from 1. */
  attempt: number;
  delayMs: number;
  reason: string;
}

export interface ClientOptions {
  baseUrl: string;
  /** Null where none is configured: `lookup` then fails with what to set. */
  lookupBaseUrl: string | null;
  token: string;
  /** Deadline of one request, from connecting to the last byte of its reply, milliseconds. */
  timeoutMs: number;
  /** A `Retry-After` date is relative to its `now`. */
  clock: Clock;
  /** Default 10 s. */
  connectTimeoutMs?: number;
  /** Further attempts of a job poll or a lookup. Default 5. */
  retries?: number;
  /** First bound of the backoff between them, milliseconds. Default 1000. */
  retryDelayMs?: number;
  /** A longer `Retry-After` ends the attempts, milliseconds. It does not bound the backoff. Default 5 min. */
  maxRetryAfterMs?: number;
  /** `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`; other names are not looked at. Loopback never uses a proxy. */
  proxy?: ProxyEnv;
  userAgent?: string;
  /** Uniform in [0, 1). */
  random?: () => number;
  /** Most connections to one host. Default: no bound. */
  connections?: number;
  /** One entry for each request. */
  log?: (entry: LogEntry) => void;
  /** As in `TransportOptions`. */
  compiling?: (compile: () => void) => void;
  onRetry?: (retry: ReadRetry) => void;
}

const MIB = 1 << 20;
const MAX_LOOKUP = 64 * MIB;
const MAX_REPLY = 8 * MIB;

/**
 * Opens no socket before the first request. The schemas of replies are loaded with the first reply, since the
 * first request need not wait for them.
 * @throws ConfigError for a base URL or a proxy that is no URL
 * @throws UsageError for a token that cannot be in a header; it is not repeated
 */
export function createClient(options: ClientOptions): ServiceClient {
  const { baseUrl, lookupBaseUrl, token, clock } = options;
  // Node prints the whole header, token included, when it refuses one.
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
    connections: options.connections ?? null,
    proxy: options.proxy ?? {},
    monotonic: () => clock.monotonic(),
    log: options.log,
    compiling: options.compiling,
  });

  const earlier = new EarlierReplies();
  /** Requests that are answered with a job, and so share what is known of replies. */
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
    for (let attempt = 1; ; attempt++) {
      const answer = await transport.exchange(request, signal);
      const { classifyRead } = await import('./answer.js');
      const decision = classifyRead(answer, clock.now());
      if (decision.do === 'use') return decision;
      if (decision.do === 'stop' || attempt > (options.retries ?? NUMBERS.retries.default))
        throw refine(decision.error, answer);
      const backoff = {
        attempt,
        baseMs: options.retryDelayMs ?? NUMBERS.retryDelayMs.default,
        random: options.random ?? Math.random,
      };
      const { waitMs } = decision;
      if (waitMs !== null && waitMs > (options.maxRetryAfterMs ?? NUMBERS.maxRetryAfterMs.default)) {
        throw decision.error;
      }
      const delayMs = waitMs ?? backoffDelay(backoff);
      signal?.throwIfAborted(); // no retry follows, so none is announced
      options.onRetry?.({ attempt, delayMs, reason: decision.reason });
      await clock.sleep(delayMs, signal);
    }
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
      const { isRecord, lookupSchema } = await import('./contract.js');
      const records = lookupSchema.safeParse(value);
      if (records.success) return { text: reply.body, records: records.data };
      const item = Array.isArray(value) ? value.findIndex((record) => !isRecord(record)) : -1;
      const what = item === -1 ? whatCame(reply) : `an array whose item ${item + 1} is not an object`;
      throw contractError(
        `the lookup list ${list} should be an array of records, but the service sent ${what}`,
        reply,
      );
    },
    close: () => transport.close(),
  };
}

/** A 404 for a job means the job first of all, unless it is another server's or a proxy's: the service speaks JSON. */
function unknownJob(error: ProfilesError, answer: Answer, jobId: string): ProfilesError {
  if (!(error instanceof ServiceError) || error.status !== 404 || answer.type !== 'reply') return error;
  if (answer.body.trim() !== '' && parseJson(answer.body) === undefined) return error;
  return new ServiceError(`job ${oneLine(jobId)} not found: ${error.message}`, {
    status: 404,
    requestId: error.requestId,
    hint: 'check the id, and that the region and the account are those of its import',
  });
}

function contractError(message: string, reply: { status: number; requestId: string | null }): ProfilesError {
  return new ContractError(message + requestNote(reply), {
    status: reply.status,
    requestId: reply.requestId ?? undefined,
    hint: "the response does not match the service's specification; check the base URLs, or contact the operator",
  });
}
