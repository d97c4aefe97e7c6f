/**
 * One HTTP request, one answer: undici with a deadline, without retries and without redirects. It speaks
 * to undici's dispatcher rather than `request()`, because only the dispatcher tells the moment at which a
 * request begins to be written. Before it, nothing can have arrived; after it, nobody knows.
 */
import { setImmediate } from 'node:timers/promises';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { formatDuration } from '../duration.js';
import { ConfigError } from '../errors.js';
import type { BaseUrl } from './address.js';
import type { Answer } from './answer.js';
import { connectFailure, lostReason } from './failure.js';
import { isHtml, parseJson } from './reply-error.js';

/** Proxy settings by their usual names, in either case. */
export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/** What `--debug` shows of a request: never a token, never a body. */
export interface LogEntry {
  method: string;
  url: string;
  status: number | null;
  duration_ms: number;
  request_id: string | null;
  /** Why there was no complete reply. */
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
}

export interface Transport {
  /** Never throws for a failure of the network. @throws the signal's reason when it is aborted */
  exchange(request: Request, signal?: AbortSignal): Promise<Answer>;
  /** Ends what is in flight and closes all connections. */
  close(): Promise<void>;
}

/** @throws ConfigError when a proxy setting is no URL */
export function createTransport(options: TransportOptions): Transport {
  const { token, timeoutMs, log } = options;
  const closing = new AbortController();
  const connect = { timeout: options.connectTimeoutMs, signal: closing.signal };
  // The one deadline is ours: undici's own are per phase, and a slow drip would pass them all.
  const common = { connections: options.connections, headersTimeout: 0, bodyTimeout: 0, connect };
  const direct = new Agent(common);
  const proxied = proxyAgent(options.proxy, { ...common, proxyTls: connect, requestTls: connect });
  // A service that repeats the token in an error must not get it printed. A short one is a test's.
  const hide = (text: string): string => (token.length < 8 ? text : text.replaceAll(token, '[token]'));

  async function exchange(request: Request, signal?: AbortSignal): Promise<Answer> {
    const { method, base, body } = request;
    const path = base.prefix + request.path;
    const url = base.origin + path;
    const started = options.monotonic();
    const dispatcher = base.loopback ? direct : (proxied ?? direct);
    // The service may have closed an idle connection while this program was busy. With this turn and undici's own
    // the event loop gets to read that; the request would be written to it, and be lost, without need.
    await setImmediate();
    signal?.throwIfAborted();
    const headers = {
      authorization: `Token ${token}`,
      accept: 'application/json',
      'user-agent': options.userAgent,
      ...(body && { 'content-type': 'application/json' }),
    };
    const wire = { origin: base.origin, path, method, headers, body: body ?? null };
    const answer = concealed(
      await dispatch(dispatcher, wire, {
        host: base.host,
        url,
        timeoutMs,
        maxBytes: request.maxReplyBytes,
        signal,
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
    exchange,
    close: async () => {
      closing.abort(); // connections still being made are not undici's to destroy
      await Promise.all([direct.destroy(), proxied?.destroy()]);
    },
  };
}

interface Limits {
  host: string;
  url: string;
  timeoutMs: number;
  maxBytes: number;
  signal: AbortSignal | undefined;
}

/** Settles once, with the first thing that happens: a whole reply, a failure, the deadline, the signal. */
function dispatch(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { host, url, timeoutMs, maxBytes, signal }: Limits,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let head: { status: number; header: (name: string) => string | null } | undefined;
    let settled = false;
    let bytes = 0;
    const chunks: Buffer[] = [];

    const settle = (end: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      end();
    };
    /** Answers, and leaves the connection for dead: a reply that is still coming would be taken for the next one's. */
    const giveUp = (answer: Answer): void => {
      settle(() => resolve(answer));
      controller?.abort(new Error('given up'));
    };
    const onAbort = (): void => {
      settle(() => reject(signal?.reason));
      controller?.abort(new Error('aborted'));
    };
    const onDeadline = (): void => {
      const limit = `within ${formatDuration(timeoutMs)} (--timeout)`;
      if (controller) giveUp({ type: 'lost', reason: `${host} gave no complete reply ${limit}` });
      else giveUp({ type: 'unsent', reason: `no connection to ${host} ${limit}`, tls: false });
    };
    const timer = setTimeout(onDeadline, timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });

    dispatcher.dispatch(options, {
      // Called right before the first byte is written.
      onRequestStart(started) {
        controller = started;
        if (settled) started.abort(new Error('given up'));
      },
      // Interim replies (1xx) come here too; the last one counts.
      onResponseStart(_, status, headers) {
        const header = (name: string): string | null => {
          const value = headers[name];
          return (Array.isArray(value) ? value[0] : value) ?? null;
        };
        head = { status, header };
      },
      onResponseData(_, chunk) {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else
          giveUp({
            type: 'lost',
            reason: `${host} sent a reply of more than ${maxBytes >> 20} MiB`,
            oversize: true,
          });
      },
      onResponseEnd() {
        settle(() =>
          resolve(head ? reply(head, chunks, url, host) : { type: 'lost', reason: `${host} sent no reply` }),
        );
      },
      onResponseError(_, error) {
        if (controller)
          settle(() => resolve({ type: 'lost', reason: lostReason(error, host, head !== undefined) }));
        else settle(() => resolve({ type: 'unsent', ...connectFailure(error, host) }));
      },
    });
  });
}

function reply(
  { status, header }: { status: number; header: (name: string) => string | null },
  chunks: readonly Buffer[],
  url: string,
  host: string,
): Answer {
  const body = new TextDecoder().decode(Buffer.concat(chunks));
  const contentType = header('content-type');
  const success = status >= 200 && status < 300 && status !== 204;
  const bounded = header('content-length') !== null || header('transfer-encoding') !== null;
  // Without a length a reply ends where the connection does, cut short or not: only whole JSON proves it whole.
  if (success && !bounded && parseJson(body) === undefined && !isHtml({ contentType, body })) {
    return { type: 'lost', reason: `${host} closed the connection in the middle of its reply` };
  }
  return {
    type: 'reply',
    status,
    retryAfter: header('retry-after'),
    requestId: header('x-request-id'),
    contentType,
    body,
    url,
    location: header('location'),
  };
}

function concealed(answer: Answer, hide: (text: string) => string): Answer {
  if (answer.type !== 'reply') return { ...answer, reason: hide(answer.reason) };
  const requestId = answer.requestId && hide(answer.requestId);
  const location = answer.location ? hide(answer.location) : null;
  const body = answer.status >= 200 && answer.status < 300 ? answer.body : hide(answer.body);
  return { ...answer, requestId, location, body };
}

/** Null where no proxy is set. All three values are always given: undici would look up its own otherwise. */
function proxyAgent(env: ProxyEnv, options: EnvHttpProxyAgent.Options): EnvHttpProxyAgent | null {
  const httpProxy = proxyUrl(env, 'HTTP_PROXY');
  const httpsProxy = proxyUrl(env, 'HTTPS_PROXY');
  if (!httpProxy && !httpsProxy) return null;
  const noProxy = env.no_proxy ?? env.NO_PROXY ?? '';
  return new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy });
}

/** A scheme may be missing, as with curl. The value is never shown: it may hold a password. */
function proxyUrl(env: ProxyEnv, name: string): string {
  const value = (env[name.toLowerCase()] ?? env[name] ?? '').trim();
  if (value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  if (URL.canParse(url) && /^(?:https?|socks5?):$/.test(new URL(url).protocol)) return url;
  throw new ConfigError(`${name} is not the URL of a proxy`, {
    hint: 'write it like http://proxy.example:8080',
  });
}
