/** Sends requests to the service: connections, headers, and the log. No retries, no redirects. */
import { setMaxListeners } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import undici from 'undici';
import { type BaseUrl, type ProxyEnv, proxySettings, settingFor } from './address.js';
import type { Answer } from './answer.js';
import { Connection } from './connection.js';
import { type Exchanged, exchange, type Request, type Terms, urlOf } from './exchange.js';
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
  const direct = undici.buildConnector(connect); // one for all, since it keeps the sessions of TLS
  const proxy = proxySettings(options.proxy);
  const terms: Terms = {
    headers: {
      authorization: `Token ${token}`,
      accept: 'application/json',
      'user-agent': options.userAgent,
    },
    timeoutMs,
    proxySetting: (origin) => (proxy === null ? undefined : settingFor(new URL(origin), proxy)),
    redact: redactor(token),
  };
  const all = new Set<Connection>();
  /** Connections without a request, by origin. The last one was used last. */
  const idle = new Map<string, Connection[]>();

  async function connectionTo({ origin, loopback }: BaseUrl): Promise<Connection> {
    const known = idle.get(origin)?.pop();
    if (known) return known;
    const made = new Connection(options.compiling);
    all.add(made);
    if (loopback || proxy === null) {
      made.dispatcher = new undici.Client(origin, { connect: made.watched(direct) });
    } else {
      const { proxyAgent } = await import('./proxy.js');
      made.dispatcher = proxyAgent(proxy, { headersTimeout: 0, bodyTimeout: 0, connect, watch: made });
    }
    return made;
  }

  /** Sends over a connection that is free, which is used again if the reply is complete. */
  async function over(request: Request, signal?: AbortSignal): Promise<Answer> {
    const { origin } = request.base;
    const connection = await connectionTo(request.base);
    let exchanged: Exchanged | undefined;
    try {
      // The service may have closed an idle connection while this process was busy. This turn of the event loop, and
      // that of undici, read such a close. Without them, the request would be written to a closed connection, and be
      // lost.
      await setImmediate();
      signal?.throwIfAborted();
      exchanged = await exchange(connection, request, terms, signal);
    } finally {
      if (exchanged?.keep) idle.set(origin, [...(idle.get(origin) ?? []), connection]);
      else {
        all.delete(connection);
        void connection.dispatcher.destroy();
      }
    }
    const { answer } = exchanged;
    if (request.written && answer.type === 'reply' && isSuccess(answer))
      void connection.written().then((isWritten) => isWritten && request.written?.());
    return answer;
  }

  return {
    exchange: async (request, signal) => {
      signal?.throwIfAborted();
      if (signal) setMaxListeners(0, signal); // one for each request in flight; Node warns beyond ten
      const started = options.monotonic();
      const answer = await over(request, signal);
      const isReply = answer.type === 'reply';
      log?.({
        method: request.method,
        url: urlOf(request),
        status: isReply ? answer.status : null,
        duration_ms: Math.round(options.monotonic() - started),
        request_id: isReply ? answer.requestId : null,
        error: isReply ? null : answer.reason,
      });
      return answer;
    },
    close: async () => {
      // If the service accepted a request before it has read all of it, the rest is still sent.
      const longest = sleep(Math.min(timeoutMs, MOST_OWED_MS), undefined, { ref: false });
      const written = [...idle.values()].flat().map((connection) => connection.written());
      await Promise.race([Promise.all(written), longest]);
      closing.abort(); // also ends connections that are being made, which `destroy` does not
      await Promise.all([...all].map(({ dispatcher }) => dispatcher.destroy()));
    },
  };
}
