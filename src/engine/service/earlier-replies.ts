/**
 * Tells the answer to a request from one that belongs to another (contract §4): a broken intermediary may give a reply
 * twice, and the second time it would be taken for the answer to whatever was asked next.
 */
import { createHash } from 'node:crypto';
import type { Reply } from './answer.js';
import type { Belonging } from './exchange.js';
import { oneLine, parseJson } from './reply-text.js';

/** Replies and job ids that are remembered. A reply that comes again comes soon. */
const MOST = 100_000;

const OWN = { use: true, warning: null, close: false } as const satisfies Belonging;

/** The replies that one client has read, as far as they tell themselves apart. */
export class EarlierReplies {
  /** What was asked, by what a reply is known by. */
  readonly #seen = new Map<string, string>();
  /** Replies without a request id that were taken for another request's. */
  readonly #refused = new Set<string>();
  readonly #jobs = new Set<string>();
  /** The service answers different requests alike. */
  #repeats = false;
  #warned = false;

  /**
   * Whether a complete reply is the answer to this request.
   * @param asked method and path
   * @param fresh whether it is the first reply on its connection, so that none can have come twice there
   */
  inspect(asked: { method: 'GET' | 'POST'; path: string }, reply: Reply, fresh: boolean): Belonging {
    const jobId = jobIdOf(reply);
    const known = identityOf(reply, jobId);
    if (known === null) return OWN;
    const question = `${asked.method} ${asked.path}`;
    const before = this.#seen.get(known.identity);
    // Polls of one job may be answered alike; an old record of it does no harm, but what follows it might.
    const isPolled = asked.method === 'GET' && (before === question || isRecordOf(jobId, asked.path));
    if (before !== undefined && isPolled) return { ...OWN, close: known.unique };
    if (before !== undefined && !this.#isRepeating(known, fresh)) {
      return { use: false, reason: `answered with its reply to an earlier request (${known.words})` };
    }
    this.#keep(known.identity, question);
    if (asked.method === 'GET' || jobId === null) return OWN;
    const again = this.#jobs.has(jobId);
    remember(this.#jobs, jobId);
    if (!again || this.#warned) return OWN;
    this.#warned = true;
    const warning = `the service gave the job id ${oneLine(jobId)} to more than one request, so it is unclear which request the job belongs to`;
    return { ...OWN, warning };
  }

  /**
   * A mock may give every request the same reply, without an id of its own. It shows when the reply comes once more as
   * the first one on a new connection.
   */
  #isRepeating({ identity, unique, success }: Known, fresh: boolean): boolean {
    if (unique && success) return false;
    this.#repeats ||= fresh && this.#refused.has(identity);
    if (!this.#repeats) remember(this.#refused, identity);
    return this.#repeats;
  }

  #keep(identity: string, question: string): void {
    this.#seen.set(identity, question);
    forgetOldest(this.#seen);
  }
}

interface Known {
  identity: string;
  /** It has a request id. */
  unique: boolean;
  success: boolean;
  /** For a message. */
  words: string;
}

/**
 * What a reply is known by: of a success its job id and its request id, without one its whole body; of anything else
 * status, request id and body. Null where nothing tells it from another.
 */
function identityOf(reply: Reply, jobId: string | null): Known | null {
  const { status, requestId, body } = reply;
  const success = status >= 200 && status < 300;
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

function jobIdOf({ status, body }: Reply): string | null {
  if (status < 200 || status >= 300) return null;
  const value = parseJson(body) as { job_id?: unknown } | null | undefined;
  const id = typeof value === 'object' ? value?.job_id : undefined;
  return typeof id === 'string' && id !== '' ? id : null;
}

function remember(set: Set<string>, value: string): void {
  set.add(value);
  forgetOldest(set);
}

function forgetOldest(kept: Map<string, unknown> | Set<string>): void {
  if (kept.size <= MOST) return;
  const { value } = kept.keys().next();
  if (value !== undefined) kept.delete(value);
}
