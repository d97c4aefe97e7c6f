/** Sends requests to the service: connections, proxies, headers, and the log. No retries, no redirects. */
import { setMaxListeners } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { BaseUrl } from './address.js';
import type { Answer, Reply } from './answer.js';
import { Connections } from './connection.js';
import { type Belonging, exchange } from './exchange.js';
import { type ProxyEnv, type ProxySettings, proxyAgent, proxySettings } from './proxy.js';
import { redactor } from './redact.js';

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
  /** The most connections to one host; null: no limit. */
  connections: number | null;
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

export interface Request {
  method: 'GET' | 'POST';
  base: BaseUrl;
  /** Relative to the base URL. Begins with a slash, and is encoded. */
  path: string;
  /** JSON in UTF-8, which is sent unchanged. */
  body?: Uint8Array;
  /** The most bytes of a reply. */
  maxReplyBytes: number;
  /** See `Limits`. */
  ready?: (() => void) | undefined;
  written?: (() => void) | undefined;
  /** See `Limits`. */
  inspect?: (reply: Reply, fresh: boolean) => Belonging;
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
  setMaxListeners(0, closing.signal); // one for each connection; Node warns of more than ten
  const connect = { timeout: options.connectTimeoutMs, signal: closing.signal };
  const connections = new Connections(options.compiling);
  // Not the deadlines of undici, which are for each phase: a server that sends single bytes would meet all of
  // them.
  const common = { connections: options.connections, headersTimeout: 0, bodyTimeout: 0 };
  const pools = new Map<string, Pool>();
  // Not an Agent: after one of its connections was closed, it tends to close each new one after a single
  // request.
  const direct = (origin: string): Pool => {
    const pool = pools.get(origin) ?? new Pool(origin, { ...common, connect: connections.watched(connect) });
    pools.set(origin, pool);
    return pool;
  };
  const proxy = proxySettings(options.proxy);
  let opened: Promise<Dispatcher> | undefined;
  const proxied = (settings: ProxySettings): Promise<Dispatcher> => {
    opened ??= proxyAgent(settings, { ...common, connect, watch: connections });
    return opened;
  };
  const redact = redactor(token);

  async function send(request: Request, signal?: AbortSignal): Promise<Answer> {
    const { method, base, body } = request;
    const path = base.prefix + request.path;
    const url = base.origin + path;
    const started = options.monotonic();
    const proxyInUse = base.loopback ? null : proxy;
    const dispatcher = proxyInUse ? await proxied(proxyInUse) : direct(base.origin);
    // The service may have closed an idle connection while this process was busy. This turn of the event
    // loop, and that of undici, read such a close. Without them, the request would be written to a closed
    // connection, and be lost.
    await setImmediate();
    signal?.throwIfAborted();
    if (signal) setMaxListeners(0, signal); // also one for each request in flight
    const headers = {
      authorization: `Token ${token}`,
      accept: 'application/json',
      'user-agent': options.userAgent,
      ...(body && { 'content-type': 'application/json' }),
    };
    const wire = { origin: base.origin, path, method, headers, body: body ?? null };
    const answer = await exchange(dispatcher, wire, {
      host: base.host,
      url,
      timeoutMs,
      maxBytes: request.maxReplyBytes,
      redact,
      signal,
      connections,
      ready: request.ready,
      written: request.written,
      inspect: request.inspect,
    });
    log?.({
      method,
      url,
      status: answer.type === 'reply' ? answer.status : null,
      duration_ms: Math.round(options.monotonic() - started),
      request_id: answer.type === 'reply' ? answer.requestId : null,
      error: answer.type === 'reply' ? null : answer.reason,
    });
    return answer;
  }

  return {
    exchange: send,
    close: async () => {
      // If the service accepted a request before it has read all of it, the rest is still sent.
      const longest = sleep(Math.min(timeoutMs, MOST_OWED_MS), undefined, { ref: false });
      await Promise.race([connections.settled(), longest]);
      closing.abort(); // also ends connections that are being made, which `destroy` does not
      const agent = await opened?.catch(() => null);
      await Promise.all([...[...pools.values()].map((pool) => pool.destroy()), agent?.destroy()]);
    },
  };
}
