/** Sends requests to the service: connections, headers, and the log. No retries, no redirects. */
import { setMaxListeners } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import undici from 'undici';
import { type BaseUrl, type ProxyEnv, proxySettings, settingFor } from './address.js';
import type { Answer } from './answer.js';
import { Connection } from './connection.js';
import { type Exchanged, exchange, type Limits } from './exchange.js';
import { isSuccess, redactor } from './reply.js';

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
  /** The caller must check that it can be in a header. */
  token: string;
  userAgent: string;
  /** Milliseconds for one request, from connecting to the last byte of its reply. */
  timeoutMs: number;
  /** Milliseconds for a connection, including TLS. */
  connectTimeoutMs: number;
  proxy: ProxyEnv;
  /** Returns a monotonic clock, in milliseconds. */
  monotonic: () => number;
  log?: ((entry: LogEntry) => void) | undefined;
  /**
   * Must call `compile`, which passes a new connection to undici. With the first one, undici compiles its
   * parser.
   */
  compiling?: ((compile: () => void) => void) | undefined;
}

export interface Request extends Pick<Limits, 'ready' | 'inspect'> {
  method: 'GET' | 'POST';
  base: BaseUrl;
  /** Relative to the base URL. Begins with a slash, and is encoded. */
  path: string;
  /** JSON in UTF-8, which is sent unchanged. */
  body?: Uint8Array;
  /** The most bytes of a reply. */
  maxReplyBytes: number;
  /** Called when it was accepted and nothing reads the body anymore; not called if that is unknown. */
  written?: (() => void) | undefined;
}

export interface Transport {
  /**
   * Sends a request. Failures of the network are answers.
   * @throws the signal's reason; the error of `ready`
   */
  exchange(request: Request, signal?: AbortSignal): Promise<Answer>;
  /** Ends requests in flight, and closes all connections. */
  close(): Promise<void>;
}

/** How long `close` waits until requests that were accepted early are written completely, in milliseconds. */
const MOST_OWED_MS = 5_000;

/** @throws ConfigError if a proxy setting is not a URL */
export function createTransport(options: TransportOptions): Transport {
  const { token, timeoutMs, log } = options;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one for each connection; Node warns beyond ten
  const connect = { timeout: options.connectTimeoutMs, signal: closing.signal };
  // Not the deadlines of undici, which are for each phase: a server that sends single bytes would meet all of
  // them.
  const noDeadlines = { headersTimeout: 0, bodyTimeout: 0 };
  const direct = undici.buildConnector(connect); // one for all, since it keeps the sessions of TLS
  const proxy = proxySettings(options.proxy);
  const redact = redactor(token);
  const all = new Set<Connection>();
  /** Connections without a request, by origin. The last one was used last. */
  const idle = new Map<string, Connection[]>();
  /** For each accepted request: resolves when all of it was written, or its connection has ended. */
  const owed = new Set<Promise<void>>();

  async function connectionTo({ origin, loopback }: BaseUrl): Promise<Connection> {
    const known = idle.get(origin)?.pop();
    if (known) return known;
    const made = new Connection(options.compiling);
    all.add(made);
    if (loopback || proxy === null) {
      made.dispatcher = new undici.Client(origin, { connect: made.watched(direct) });
    } else {
      const { proxyAgent } = await import('./proxy.js');
      made.dispatcher = proxyAgent(proxy, { ...noDeadlines, connect, watch: made });
    }
    return made;
  }

  /** Sends over a connection that is free, which is used again if the reply is complete. */
  async function over(request: Request, url: string, signal?: AbortSignal): Promise<Answer> {
    const { method, base, body, maxReplyBytes, ready, inspect, written } = request;
    const connection = await connectionTo(base);
    // The service may have closed an idle connection while this process was busy. This turn of the event loop, and
    // that of undici, read such a close. Without them, the request would be written to a closed connection, and be
    // lost.
    await setImmediate();
    signal?.throwIfAborted();
    const wire = {
      origin: base.origin,
      path: base.prefix + request.path,
      method,
      headers: {
        authorization: `Token ${token}`,
        accept: 'application/json',
        'user-agent': options.userAgent,
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body ?? null,
      ...noDeadlines,
    };
    const limits: Limits = {
      host: base.host,
      url,
      timeoutMs,
      maxBytes: maxReplyBytes,
      proxySetting: proxy === null ? undefined : settingFor(new URL(base.origin), proxy),
      redact,
      signal,
      ready,
      inspect,
    };
    let exchanged: Exchanged | undefined;
    try {
      exchanged = await exchange(connection, wire, limits);
    } finally {
      if (exchanged?.keep) idle.set(base.origin, [...(idle.get(base.origin) ?? []), connection]);
      else {
        all.delete(connection);
        void connection.dispatcher.destroy();
      }
    }
    const { answer } = exchanged;
    if (body && answer.type === 'reply' && isSuccess(answer)) {
      const ended = connection.written().then((isWritten) => {
        owed.delete(ended);
        if (isWritten) written?.();
      });
      owed.add(ended);
    }
    return answer;
  }

  return {
    exchange: async (request, signal) => {
      signal?.throwIfAborted();
      if (signal) setMaxListeners(0, signal); // one for each request in flight; Node warns beyond ten
      const started = options.monotonic();
      const url = request.base.origin + request.base.prefix + request.path;
      const answer = await over(request, url, signal);
      log?.({
        method: request.method,
        url,
        status: answer.type === 'reply' ? answer.status : null,
        duration_ms: Math.round(options.monotonic() - started),
        request_id: answer.type === 'reply' ? answer.requestId : null,
        error: answer.type === 'reply' ? null : answer.reason,
      });
      return answer;
    },
    close: async () => {
      // If the service accepted a request before it has read all of it, the rest is still sent.
      const longest = sleep(Math.min(timeoutMs, MOST_OWED_MS), undefined, { ref: false });
      await Promise.race([Promise.all(owed), longest]);
      closing.abort(); // also ends connections that are being made, which `destroy` does not
      await Promise.all([...all].map(({ dispatcher }) => dispatcher.destroy()));
    },
  };
}
