/**
 * Recognizes replies that belong to an earlier request (contract §4): a broken proxy may deliver a reply
 * twice, and the second one would be read as the answer to the next request.
 */
import { hash } from 'node:crypto';
import { isObject } from '../util/json-object.js';
import { isSuccess, oneLine, parseJson, type Reply } from './reply.js';

/** The most replies, and job ids, to remember. Repeated replies arrive soon after the first. */
const MOST = 100_000;

/** Whether a complete reply belongs to its request. */
interface Belonging {
  /** Why it belongs to another request, as the next ones on its connection would. */
  lost?: string;
  warning?: string;
  /** Whether the connection can be used again. */
  keep: boolean;
}

/** The replies that one client has read. */
export class EarlierReplies {
  /** The request (method and path), by the identity of its reply. */
  readonly #seen = new Map<string, string>();
  /** Identities of replies that were refused as those of an earlier request. */
  readonly #refused = new Map<string, true>();
  readonly #jobs = new Map<string, true>();
  /** Whether the service gives the same reply to different requests, as some mocks do. */
  #repeats = false;
  #warned = false;

  /**
   * Decides whether a complete reply is the answer to this request.
   * @param isFresh whether it is the first one on its connection, so that it cannot be a repeated one
   */
  inspect(method: 'GET' | 'POST', path: string, reply: Reply, isFresh: boolean): Belonging {
    const { requestId } = reply;
    const jobId = jobIdOf(reply);
    if (jobId === null && requestId === null) return { keep: true };
    const question = `${method} ${path}`;
    const identity = identityOf(reply, jobId);
    const isOwn = (): boolean => path.endsWith(`/${encodeURIComponent(jobId ?? '')}`);
    const before = this.#seen.get(identity);
    if (before !== undefined) {
      // Polls of a job may have equal answers. An old record does no harm, but a reply with the same request id
      // means that the connection is out of step, so it is not used again.
      if (method === 'GET' && (before === question || isOwn())) return { keep: requestId === null };
      if ((requestId !== null && isSuccess(reply)) || !this.#isRepeating(identity, isFresh)) {
        const words = [jobId && `job ${oneLine(jobId)}`, requestId && `x-request-id ${oneLine(requestId)}`];
        const lost = `answered with its reply to an earlier request (${words.filter(Boolean).join(', ')})`;
        return { keep: false, lost };
      }
    }
    // A cache may answer a poll with the record of another job.
    if (method === 'GET' && jobId !== null && this.#jobs.has(jobId) && !isOwn())
      return { keep: false, lost: `answered with the record of another job (${oneLine(jobId)})` };
    remember(this.#seen, identity, question);
    if (method === 'GET' || jobId === null) return { keep: true };
    const isKnown = this.#jobs.has(jobId);
    remember(this.#jobs, jobId, true);
    if (!isKnown || this.#warned) return { keep: true };
    this.#warned = true;
    const warning = `the service gave the job id ${oneLine(jobId)} to more than one request, so it is unclear which request the job belongs to`;
    return { keep: true, warning };
  }

  /** Detects a mock that gives the same reply to every request: a refused one comes again as the first on a connection. */
  #isRepeating(identity: string, isFresh: boolean): boolean {
    this.#repeats ||= isFresh && this.#refused.has(identity);
    remember(this.#refused, identity, true);
    return this.#repeats;
  }
}

/**
 * The identity of a reply. For a success: its job id and its request id, or without one, its body. For
 * others: status, request id, and body.
 */
function identityOf(reply: Reply, jobId: string | null): string {
  const { status, requestId, body } = reply;
  const parts = isSuccess(reply) ? [jobId, requestId ?? body, requestId === null] : [status, requestId, body];
  return hash('sha256', JSON.stringify(parts), 'base64');
}

function jobIdOf(reply: Reply): string | null {
  const value = isSuccess(reply) ? parseJson(reply.body) : undefined;
  const id = isObject(value) ? value.job_id : undefined;
  return typeof id === 'string' && id !== '' ? id : null;
}

/** Keeps the values that were set last. */
function remember<V>(known: Map<string, V>, key: string, value: V): void {
  known.set(key, value);
  if (known.size > MOST) known.delete(known.keys().next().value!);
}
