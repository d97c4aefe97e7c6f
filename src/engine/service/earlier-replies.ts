/**
 * Recognizes replies that belong to an earlier request (contract §4): a broken proxy may deliver a reply
 * twice, and the second one would be read as the answer to the next request.
 */
import { createHash } from 'node:crypto';
import { isObject } from '../util/json-object.js';
import type { Belonging } from './exchange.js';
import { isSuccess, oneLine, parseJson, type Reply } from './reply.js';

/** The most replies, and job ids, to remember. Repeated replies arrive soon after the first. */
const MOST = 100_000;

const OWN = { use: true, warning: null, keep: true } as const satisfies Belonging;

/** The replies that one client has read. */
export class EarlierReplies {
  /** The request (method and path), by the identity of its reply. */
  readonly #seen = new Latest<string>();
  /** Identities of replies that were refused as those of an earlier request. */
  readonly #refused = new Latest<true>();
  readonly #jobs = new Latest<true>();
  /** Whether the service gives the same reply to different requests, as some mocks do. */
  #repeats = false;
  #warned = false;

  /**
   * Decides whether a complete reply is the answer to this request.
   * @param asked method and path of the request
   * @param fresh whether it is the first reply on its connection, so that it cannot be a repeated one
   */
  inspect(asked: { method: 'GET' | 'POST'; path: string }, reply: Reply, fresh: boolean): Belonging {
    const jobId = jobIdOf(reply);
    const known = identityOf(reply, jobId);
    if (known === null) return OWN;
    const question = `${asked.method} ${asked.path}`;
    const before = this.#seen.get(known.identity);
    // Polls of a job may have equal answers. An old record does no harm, but a reply with the same request id
    // means that the connection is out of step, so it is not used again.
    const isPolled = asked.method === 'GET' && (before === question || isRecordOf(jobId, asked.path));
    if (before !== undefined && isPolled) return { ...OWN, keep: !known.unique };
    if (before !== undefined && !this.#isRepeating(known, fresh)) {
      return { use: false, reason: `answered with its reply to an earlier request (${known.words})` };
    }
    this.#seen.set(known.identity, question);
    if (asked.method === 'GET' || jobId === null) return OWN;
    const again = this.#jobs.has(jobId);
    this.#jobs.set(jobId, true);
    if (!again || this.#warned) return OWN;
    this.#warned = true;
    const warning = `the service gave the job id ${oneLine(jobId)} to more than one request, so it is unclear which request the job belongs to`;
    return { ...OWN, warning };
  }

  /**
   * Detects a mock that gives the same reply to every request: a refused reply arrives again as the first one
   * on a new connection, where it cannot be a repeated one.
   */
  #isRepeating({ identity, unique, success }: Known, fresh: boolean): boolean {
    if (unique && success) return false;
    this.#repeats ||= fresh && this.#refused.has(identity);
    if (!this.#repeats) this.#refused.set(identity, true);
    return this.#repeats;
  }
}

interface Known {
  identity: string;
  /** Whether the reply has a request id. */
  unique: boolean;
  success: boolean;
  /** Describes the reply in a message. */
  words: string;
}

/**
 * The identity of a reply. For a success: its job id and its request id, or without one, its body. For
 * others: status, request id, and body. Null if it has neither a job id nor a request id.
 */
function identityOf(reply: Reply, jobId: string | null): Known | null {
  const { status, requestId, body } = reply;
  const success = isSuccess(reply);
  if (jobId === null && requestId === null) return null;
  const words = [jobId && `job ${oneLine(jobId)}`, requestId && `x-request-id ${oneLine(requestId)}`];
  const parts = success ? [jobId, requestId ?? body, requestId === null] : [status, requestId, body];
  return {
    identity: createHash('sha256').update(JSON.stringify(parts)).digest('base64url'),
    unique: requestId !== null,
    success,
    words: words.filter(Boolean).join(', '),
  };
}

const isRecordOf = (jobId: string | null, path: string): boolean =>
  jobId !== null && decodeURIComponent(path.slice(path.lastIndexOf('/') + 1)) === jobId;

function jobIdOf(reply: Reply): string | null {
  const value = isSuccess(reply) ? parseJson(reply.body) : undefined;
  const id = isObject(value) ? value.job_id : undefined;
  return typeof id === 'string' && id !== '' ? id : null;
}

/** The values that were set last. */
class Latest<V> extends Map<string, V> {
  override set(key: string, value: V): this {
    super.set(key, value);
    if (this.size > MOST) this.delete(this.keys().next().value!);
    return this;
  }
}
