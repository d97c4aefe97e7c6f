/** Connections to the service, and what goes with every request: headers, the way out, the log. No retries, no redirects. */
import { setMaxListeners } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { BaseUrl } from './address.js';
import type { Answer, Reply } from './answer.js';
import { Connections } from './connection.js';
import { type Belonging, exchange } from './exchange.js';
import { isSocks, type ProxyEnv, type ProxySettings, proxyAgent, proxySettings } from './proxy.js';

/** A request, for a log. It never holds a token or a body. */
export interface LogEntry {
  method: string;
  url: string;
  /** HTTP status, or null if there was no complete reply. */
  status: number | null;
  /** Milliseconds. */
  duration_ms: number;
  /** The service's `x-request-id`. */
  request_id: string | null;
  /** Why there was no complete reply, or null. */
  error: string | null;
}

export interface TransportOptions {
  /** Checked by the caller: it becomes a header. */
  token: string;
  userAgent: string;
  /** Deadline of a whole request, connecting and the last byte of the reply included, milliseconds. */
  timeoutMs: number;
  /** Deadline for a connection, its TLS included, milliseconds. */
  connectTimeoutMs: number;
  /** Most connections to one host; null: no bound. */
  connections: number | null;
  proxy: ProxyEnv;
  /** Milliseconds on a clock that is never set. */
  monotonic: () => number;
  log?: ((entry: LogEntry) => void) | undefined;
  /** Is given what must be called: a new connection, with the first of which undici compiles its parser. */
  compiling?: ((compile: () => void) => void) | undefined;
}

export interface Request {
  method: 'GET' | 'POST';
  base: BaseUrl;
  /** Below the base URL; begins with a slash, already encoded. */
  path: string;
  /** UTF-8 JSON, sent as it is. */
  body?: Uint8Array;
  /** A longer reply is given up, bytes. */
  maxReplyBytes: number;
  /** As in `Limits`. */
  ready?: (() => void) | undefined;
  written?: (() => void) | undefined;
  /** Tells whether a complete reply is the answer to this request. `fresh`: it is the first one on its connection. */
  inspect?: (reply: Reply, fresh: boolean) => Belonging;
}

export interface Transport {
  /** Never throws for a failure of the network. @throws the signal's reason when it is aborted */
  exchange(request: Request, signal?: AbortSignal): Promise<Answer>;
  /** Ends what is in flight and closes all connections. */
  close(): Promise<void>;
}

/** For so long, `close` waits for the rest of requests that were accepted before they were read, milliseconds. */
const MOST_OWED_MS = 5_000;

/** @throws ConfigError when a proxy setting is not a URL */
export function createTransport(options: TransportOptions): Transport {
  const { token, timeoutMs, log } = options;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one for each connection; Node warns beyond ten
  const connect = { timeout: options.connectTimeoutMs, signal: closing.signal };
  const connections = new Connections(options.compiling);
  // The one deadline is ours: undici's own are per phase, and a slow drip would pass them all.
  const common = { connections: options.connections, headersTimeout: 0, bodyTimeout: 0 };
  const pools = new Map<string, Pool>();
  // Not an Agent: once one of its connections was closed it tends to close each new one after a single request.
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
  // A service that repeats the token in an error must not get it printed. A short one is a test's.
  const hide = (text: string): string => (token.length < 8 ? text : text.replaceAll(token, '[token]'));

  async function send(request: Request, signal?: AbortSignal): Promise<Answer> {
    const { method, base, body } = request;
    const path = base.prefix + request.path;
    const url = base.origin + path;
    const started = options.monotonic();
    const proxyInUse = base.loopback ? null : proxy;
    const dispatcher = proxyInUse ? await proxied(proxyInUse) : direct(base.origin);
    // The service may have closed an idle connection while this program was busy. With this turn and undici's own
    // the event loop gets to read that; the request would be written to it, and be lost, without need.
    await setImmediate();
    signal?.throwIfAborted();
    if (signal) setMaxListeners(0, signal); // likewise, one for each request in flight
    const headers = {
      authorization: `Token ${token}`,
      accept: 'application/json',
      'user-agent': options.userAgent,
      ...(body && { 'content-type': 'application/json' }),
    };
    const wire = { origin: base.origin, path, method, headers, body: body ?? null };
    // Connections through SOCKS are made out of sight: none of them carries a second request.
    const reset = isSocks(proxyInUse);
    const answer = concealed(
      await exchange(dispatcher, reset ? { ...wire, reset } : wire, {
        host: base.host,
        url,
        timeoutMs,
        maxBytes: request.maxReplyBytes,
        signal,
        connections,
        ready: request.ready,
        written: request.written,
        inspect: request.inspect,
      }),
      hide,
    );
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
      // A service that says "accepted" before it has read the request gets the rest of it.
      const longest = sleep(Math.min(timeoutMs, MOST_OWED_MS), undefined, { ref: false });
      await Promise.race([connections.settled(), longest]);
      closing.abort(); // connections still being made are not undici's to destroy
      const agent = await opened?.catch(() => null);
      await Promise.all([...[...pools.values()].map((pool) => pool.destroy()), agent?.destroy()]);
    },
  };
}

function concealed(answer: Answer, hide: (text: string) => string): Answer {
  if (answer.type !== 'reply') return { ...answer, reason: hide(answer.reason) };
  const requestId = answer.requestId && hide(answer.requestId);
  const location = answer.location ? hide(answer.location) : null;
  const body = answer.status >= 200 && answer.status < 300 ? answer.body : hide(answer.body);
  return { ...answer, requestId, location, body };
}
