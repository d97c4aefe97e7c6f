/** Sends requests to the service over connections of its own. No retries, no redirects. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import undici from 'undici';
import type { Problem } from '../problems.js';
import type { Clock } from '../util/clock.js';
import { formatDuration } from '../util/duration.js';
import { formatSize } from '../util/size.js';
import { type BaseUrl, type ProxyEnv, proxySettings, settingFor } from './address.js';
import type { Answer } from './answer.js';
import { Connection, proxyAgent } from './connection.js';
import type { EarlierReplies } from './earlier-replies.js';
import { connectFailure, lostReason } from './failure.js';
import { isHtml, isSuccess, parseJson, type Reply, redactor } from './reply.js';

/** An entry for a log. It never contains a token or a body. */
export interface LogEntry {
  method: string;
  url: string;
  /** HTTP status, or null if there was no complete reply. */
  status: number | null;
  /** Duration in milliseconds. */
  duration_ms: number;
  /** The service's `x-request-id`. */
  request_id: string | null;
  /** Why there was no complete reply, or null. */
  error: string | null;
}

export interface TransportOptions {
  token: string;
  /** Milliseconds for one request, from connecting to the last byte of its reply. */
  timeoutMs: number;
  /** For pauses, durations, and `Retry-After` dates. */
  clock: Clock;
  /** Milliseconds for a connection, including TLS. Default: 10,000. */
  connectTimeoutMs?: number;
  /** `HTTPS_PROXY`, `HTTP_PROXY`, and `NO_PROXY`; other names are ignored. Loopback never uses a proxy. */
  proxy?: ProxyEnv;
  /** Called once for each request. */
  log?: (entry: LogEntry) => void;
  /**
   * Must call `compile`, which passes a new connection to undici. With the first one, undici compiles its
   * parser.
   */
  compiling?: (compile: () => void) => void;
}

export interface Request {
  method: 'GET' | 'POST';
  base: BaseUrl;
  /** Relative to the base URL. Begins with a slash, and is encoded. */
  path: string;
  /** JSON in UTF-8, which is sent unchanged. */
  body?: Uint8Array;
  /** Called right before the first byte is written. If it throws, nothing is sent. */
  ready?: (() => void) | undefined;
  /** Replies of earlier requests, with which its reply is compared. */
  earlier?: EarlierReplies;
}

const urlOf = ({ base, path }: Request): string => base.origin + base.prefix + path;

/** The most bytes of a reply. A lookup list may be long. */
const MOST_BYTES = 64 << 20;
/** How long `close` waits until requests that were accepted early are written completely, in milliseconds. */
const MOST_OWED_MS = 5_000;

export class Transport {
  readonly #closing = new AbortController();
  readonly #connect;
  readonly #direct;
  readonly #proxy;
  readonly #headers;
  /** Takes the API key out of what the other side says. */
  readonly #redact;
  readonly #all = new Set<Connection>();
  /** Connections without a request. The last one was used last. */
  readonly #idle: Connection[] = [];

  /** @throws ConfigError if a proxy setting is not a URL */
  constructor(private readonly options: TransportOptions) {
    const { token, connectTimeoutMs = 10_000, proxy = {} } = options;
    setMaxListeners(0, this.#closing.signal); // one for each connection; Node warns beyond ten
    this.#connect = { timeout: connectTimeoutMs, signal: this.#closing.signal };
    this.#direct = undici.buildConnector(this.#connect); // one for all, since it keeps the sessions of TLS
    this.#proxy = proxySettings(proxy);
    this.#redact = redactor(token);
    this.#headers = {
      authorization: `Token ${token}`,
      accept: 'application/json',
      'user-agent': 'profiles-cli',
    };
  }

  /**
   * Sends a request over a connection, which is used again if the reply is complete. Failures of the network are answers.
   * @throws the signal's reason; the error of `ready`
   */
  async exchange(request: Request, signal?: AbortSignal): Promise<Answer> {
    const { clock, log } = this.options;
    signal?.throwIfAborted();
    if (signal) setMaxListeners(0, signal); // one for each request in flight; Node warns beyond ten
    const started = clock.monotonic();
    const connection = this.#connectionTo(request.base);
    connection.isUsable = false;
    let answer: Answer;
    try {
      // The service may have closed an idle connection while this process was busy. This turn of the event loop, and
      // that of undici, read such a close. Without them, the request would be written to a closed connection, and be
      // lost.
      await turn();
      signal?.throwIfAborted();
      answer = await this.#send(connection, request, signal);
    } finally {
      if (connection.isUsable) this.#idle.push(connection);
      else {
        this.#all.delete(connection);
        void connection.dispatcher.destroy();
      }
    }
    const reply = answer.type === 'reply' ? answer : null;
    log?.({
      method: request.method,
      url: urlOf(request),
      status: reply?.status ?? null,
      duration_ms: Math.round(clock.monotonic() - started),
      request_id: reply?.requestId ?? null,
      error: answer.type === 'reply' ? null : answer.reason,
    });
    return answer;
  }

  /** Ends requests in flight, and closes all connections. */
  async close(): Promise<void> {
    // If the service accepted a request before it has read all of it, the rest is still sent.
    const longest = sleep(Math.min(this.options.timeoutMs, MOST_OWED_MS), undefined, { ref: false });
    await Promise.race([Promise.all(this.#idle.map((connection) => connection.written())), longest]);
    this.#closing.abort(); // also ends connections that are being made, which `destroy` does not
    await Promise.all([...this.#all].map(({ dispatcher }) => dispatcher.destroy()));
  }

  /** Returns a connection that is free, or a new one. */
  #connectionTo({ origin, loopback }: BaseUrl): Connection {
    const at = this.#idle.findLastIndex((connection) => connection.origin === origin);
    if (at >= 0) return this.#idle.splice(at, 1)[0]!;
    const made = new Connection(origin, this.options.compiling);
    this.#all.add(made);
    // No deadlines of undici, which are for each phase: a server that sends single bytes would meet all of them.
    const phases = { headersTimeout: 0, bodyTimeout: 0 };
    const isDirect = loopback || !(this.#proxy.HTTP_PROXY || this.#proxy.HTTPS_PROXY);
    made.dispatcher = isDirect
      ? new undici.Client(origin, { ...phases, connect: made.watched(this.#direct) })
      : proxyAgent(this.#proxy, { ...phases, connect: this.#connect, watch: made });
    return made;
  }

  /**
   * Sends one request. The answer is what happens first: a complete reply, a failure, or the deadline. Uses the
   * dispatcher of undici and not `request()`, because only the dispatcher reports the moment at which a request
   * begins to be written. Before that, nothing can have arrived at the service; after it, something may have.
   */
  #send(connection: Connection, request: Request, signal?: AbortSignal): Promise<Answer> {
    const { method, base, path, body } = request;
    const { host, origin } = base;
    const { timeoutMs } = this.options;
    return new Promise((resolve, reject) => {
      /** Whether the request began to be written. */
      let isBegun = false;
      let settled = false;
      let head: Reply | undefined;
      /** Whether the reply says where it ends. */
      let isBounded = false;
      let bytes = 0;
      const chunks: Buffer[] = [];

      const settle = (end: () => void): void => {
        if (settled) return;
        settled = true;
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        end();
      };
      const answered = (answer: Answer): void => settle(() => resolve(answer));
      const failed = (error: unknown): void => settle(() => reject(error));
      const lost = (what: string, problem?: Problem): void =>
        answered({ type: 'lost', reason: `${host} ${what}`, ...(problem && { problem }) });
      const onAbort = (): void => failed(signal!.reason);
      const onDeadline = (): void => {
        const limit = `within ${formatDuration(timeoutMs)}`;
        const problem = { code: 'no_answer_in_time', timeoutMs } as const;
        if (isBegun) lost(`gave no complete reply ${limit}`, problem);
        else answered({ type: 'unsent', reason: `no connection to ${host} ${limit}`, tls: false, problem });
      };
      // If the process was stopped or busy, the deadline may pass before it has read what has arrived in the meantime.
      const timer = setTimeout(() => setImmediate(() => setImmediate(onDeadline)), timeoutMs);
      signal?.addEventListener('abort', onAbort, { once: true });

      const headers = { ...this.#headers, ...(body && { 'content-type': 'application/json' }) };
      const options = { origin, path: base.prefix + path, method, headers, body: body ?? null };
      connection.dispatcher.dispatch(options, {
        // Called right before the first byte is written: the last moment to stop a request that was aborted.
        onRequestStart: (controller) => {
          isBegun = true;
          try {
            if (!settled) request.ready?.();
          } catch (error) {
            failed(error);
          }
          if (settled) controller.abort(new Error('given up'));
          else connection.begins();
        },
        onResponseStart: (_, status, fields) => {
          const header = (name: string): string | null => {
            const first = [fields[name] ?? []].flat()[0];
            return first === undefined ? null : this.#redact(first);
          };
          isBounded = status === 204 || 'content-length' in fields || 'transfer-encoding' in fields;
          head = {
            type: 'reply',
            status,
            retryAfter: header('retry-after'),
            date: header('date'),
            requestId: header('x-request-id'),
            contentType: header('content-type'),
            coding: header('content-encoding'),
            body: '',
            url: urlOf(request),
            location: header('location'),
          };
        },
        onResponseData: (_, chunk) => {
          bytes += chunk.length;
          if (bytes <= MOST_BYTES) chunks.push(chunk);
          else lost(`sent a reply of more than ${formatSize(MOST_BYTES)}`);
        },
        onResponseEnd: () => {
          if (!head || settled) return;
          head.isAfterRequest = connection.hasWritten;
          const reply = { ...head, body: this.#redact(new TextDecoder().decode(Buffer.concat(chunks))) };
          // Otherwise, a reply ends with its connection, even if it was cut off, and only valid JSON is surely complete.
          if (!isBounded && isSuccess(reply) && !isHtml(reply) && parseJson(reply.body) === undefined)
            return lost('closed the connection in the middle of its reply');
          const found = request.earlier?.inspect(method, path, reply, connection.isFresh) ?? { keep: true };
          connection.isFresh = false;
          if (found.lost) return lost(found.lost);
          connection.isUsable = found.keep;
          answered(found.warning ? { ...reply, warning: found.warning } : reply);
        },
        onResponseError: (_, error) => {
          if (isBegun)
            return answered({ type: 'lost', reason: this.#redact(lostReason(error, host, !!head)) });
          const failure = connectFailure(error, host, settingFor(new URL(origin), this.#proxy));
          answered({ type: 'unsent', ...failure, reason: this.#redact(failure.reason) });
        },
      });
    });
  }
}
