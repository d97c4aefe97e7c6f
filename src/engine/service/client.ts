/** The client of the service, with all seven operations of the specification. */

import { ConfigError, ContractError, type ProfilesError, ServiceError, UsageError } from '../errors.js';
import type { Kind } from '../model.js';
import { importNumbers } from '../options.js';
import { isObject } from '../util/json-object.js';
import { baseUrlOf, jobSegment } from './address.js';
import type { Answer, ReadDecision } from './answer.js';
import type { Job, LookupRecord } from './contract.js';
import { EarlierReplies } from './earlier-replies.js';
import { type LookupList, PATHS } from './names.js';
import { oneLine, parseJson, type Reply, requestNote, whatCame } from './reply.js';
import { type Retry, retried } from './retry.js';
import { type Request, Transport, type TransportOptions } from './transport.js';

export type { LogEntry } from './transport.js';

/** A client of the service. */
export interface ServiceClient {
  readonly baseUrl: string;
  readonly lookupBaseUrl: string | null;
  /**
   * Submits a bulk request (spec: Endpoints 1 and 3), once. A network failure is an answer, too.
   * @param body JSON in UTF-8, which is sent unchanged
   * @param ready called right before the first byte is written. If it throws, nothing is sent
   * @throws the signal's reason when it is aborted; the error of `ready`
   */
  submit(kind: Kind, body: Uint8Array, signal?: AbortSignal, ready?: () => void): Promise<Answer>;
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

export interface ClientOptions extends TransportOptions {
  baseUrl: string;
  /** Null if none is configured. Then `lookup` throws ConfigError. */
  lookupBaseUrl: string | null;
  /** Number of retries of a job poll or a lookup. Default: 5. */
  retries?: number;
  /** Longest delay before the first retry, in milliseconds. Doubles with each retry. Default: 1,000. */
  retryDelayMs?: number;
  /**
   * A longer `Retry-After` ends the retries, in milliseconds. Does not limit the backoff. Default: 300,000.
   */
  maxRetryAfterMs?: number;
  /** Returns a uniform number in [0, 1), for the jitter of the backoff. Default: `Math.random`. */
  random?: () => number;
  /** Called before a job poll or a lookup is made again. */
  onRetry?: (retry: Retry, delayMs: number) => void;
}

/**
 * Creates a client. It opens no socket before the first request. The schemas of replies are loaded with the
 * first reply, so that the first request does not wait for them.
 * @throws ConfigError if a proxy setting is not a URL; UsageError for a token that cannot be in
 * a header
 */
export function createClient(options: ClientOptions): ServiceClient {
  const { baseUrl, lookupBaseUrl, clock, random = Math.random } = options;
  // Checked here, because the error of Node would print the whole header with the token.
  if (!/^[\x21-\x7e]+$/.test(options.token))
    throw new UsageError('the token is empty or contains white space, control or non-ASCII characters', {
      hint: 'copy the API key again from the environment settings of the account',
    });
  const base = baseUrlOf(baseUrl);
  const lookupBase = lookupBaseUrl === null ? null : baseUrlOf(lookupBaseUrl);
  const transport = new Transport(options);
  const retrying = importNumbers(options);
  /** What requests to the base URL have in common. */
  const common = { base, earlier: new EarlierReplies() };

  /** @param unknown makes the error of an answer 404 that comes from the service */
  async function read(
    request: Request,
    signal?: AbortSignal,
    unknown = (error: ProfilesError): ProfilesError => error,
  ): Promise<Extract<ReadDecision, { do: 'use' }>> {
    let answer!: Answer;
    const attempt = async (): Promise<ReadDecision> => {
      answer = await transport.exchange(request, signal);
      return (await import('./answer.js')).classifyRead(answer, clock.now());
    };
    const onRetry = (retry: Retry, delayMs: number): void => {
      signal?.throwIfAborted(); // then there is no retry to report
      options.onRetry?.(retry, delayMs);
    };
    const decision = await retried(attempt, retrying, { clock, random, signal, onRetry });
    if (decision.do !== 'stop') return decision;
    const { error, last = error } = decision;
    throw answer.type === 'reply' && isUnknown(answer) ? unknown(last) : last;
  }

  return {
    baseUrl,
    lookupBaseUrl,
    submit: (kind, body, signal, ready) => {
      const path = kind === 'companies' ? PATHS.bulkCompanies : PATHS.bulkUsers;
      return transport.exchange({ ...common, method: 'POST', path, body, ready }, signal);
    },
    identifyCompany: (body, signal) =>
      transport.exchange({ ...common, method: 'POST', path: PATHS.identifyCompany, body }, signal),
    job: async (jobId, signal) => {
      const path = PATHS.jobs + jobSegment(jobId);
      const { value, reply } = await read({ ...common, method: 'GET', path }, signal, (error) => {
        const hint = 'check the id, and that the region and the account are those of its import';
        const message = `job ${oneLine(jobId)} not found: ${error.message}`;
        return new ServiceError(message, { ...error, hint, problem: undefined });
      });
      const { jobSchema } = await import('./contract.js');
      const { data, error } = jobSchema.safeParse(value);
      if (data) return data;
      const [issue] = error.issues;
      const what = issue?.path.length ? `${issue.path.join('.')}: ${issue.message}` : whatCame(reply);
      throw contractError(`the reply for job ${oneLine(jobId)} is not a job record: ${what}`, reply);
    },
    lookup: async (list, signal) => {
      if (!lookupBase)
        throw new ConfigError('no lookup host is set', { problem: { code: 'no_lookup_host' } });
      const path = PATHS.lookups + list;
      const { value, reply } = await read({ method: 'GET', base: lookupBase, path }, signal);
      if (Array.isArray(value) && value.every(isObject)) return { text: reply.body, records: value };
      const what = `should be an array of records, but the service sent ${whatCame(reply)}`;
      throw contractError(`the lookup list ${list} ${what}`, reply);
    },
    close: () => transport.close(),
  };
}

/** Whether the service does not know what it was asked for. A body that is not JSON comes from another server. */
const isUnknown = ({ status, body }: Reply): boolean =>
  status === 404 && (body.trim() === '' || parseJson(body) !== undefined);

const contractError = (message: string, reply: Reply): ProfilesError =>
  new ContractError(message + requestNote(reply), {
    status: reply.status,
    requestId: reply.requestId ?? undefined,
    hint: "the response does not match the service's specification; check the base URLs, or contact the operator",
  });
