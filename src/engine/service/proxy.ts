/** Proxy settings, from the environment that the caller passes. */
import { isIP } from 'node:net';
import type { buildConnector, Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { ConfigError } from '../errors.js';
import type { Connections } from './connection.js';
import { asHttp, isSocks, socksTunnel } from './socks.js';

/** Proxy settings by their usual names, in upper or lower case: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`. */
export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/** All three are always set: undici would read a missing one from the environment of the process. */
export type ProxySettings = Required<Pick<EnvHttpProxyAgent.Options, 'httpProxy' | 'httpsProxy' | 'noProxy'>>;

/**
 * Reads the proxy settings; null if no proxy is set.
 * @throws ConfigError for a value that is not a URL, or has an unsupported scheme
 */
export function proxySettings(env: ProxyEnv): ProxySettings | null {
  const httpProxy = proxyUrl(env, 'HTTP_PROXY');
  const httpsProxy = proxyUrl(env, 'HTTPS_PROXY');
  if (!httpProxy && !httpsProxy) return null;
  return { httpProxy, httpsProxy, noProxy: env.no_proxy ?? env.NO_PROXY ?? '' };
}

interface ProxyOptions extends Omit<Pool.Options, 'connect'> {
  /** For connections to the proxy, to the service, and past the proxy. */
  connect: buildConnector.BuildOptions;
  /** How long the proxy may take to make a tunnel, milliseconds. Default: 5 min. */
  tunnelTimeoutMs?: number;
  /** Watches the connections. */
  watch?: Connections;
}

/**
 * Makes a dispatcher that uses the proxies. Requests of `http:` are tunneled (CONNECT), too. Imports the
 * index of undici, which loads slowly, because only the index has what a tunnel needs.
 */
export async function proxyAgent(
  settings: ProxySettings,
  { connect, tunnelTimeoutMs, watch, ...common }: ProxyOptions,
): Promise<EnvHttpProxyAgent> {
  const { default: undici } = await import('undici'); // the bundled CommonJS module has only a default export
  // The agent makes the connector of a tunnel itself and passes it to the pool, so it is watched here.
  const factory = (origin: string | URL, { connect: own = {}, ...pool }: Pool.Options): Pool => {
    const connector = typeof own === 'function' ? explained(own, settings) : own;
    return new undici.Pool(origin, { ...pool, connect: watch?.watched(connector) ?? connector });
  };
  return new undici.EnvHttpProxyAgent({
    ...common,
    ...settings,
    httpProxy: asHttp(settings.httpProxy),
    httpsProxy: asHttp(settings.httpsProxy),
    connect,
    proxyTls: connect,
    requestTls: connect,
    factory,
    clientFactory: (proxy, { connect: own, ...options }: Pool.Options) => {
      const connector = own as buildConnector.connector;
      const pool = new undici.Pool(proxy.origin, {
        ...options,
        connect: withoutAddress(connector),
        ...(tunnelTimeoutMs && { headersTimeout: tunnelTimeoutMs }),
      });
      const ask: Ask = isSocks(proxy)
        ? ({ path }) => socksTunnel(proxy, path, connector, tunnelTimeoutMs)
        : (pool.connect.bind(pool) as Ask);
      const connectTo: Ask = (to) => ask(to).catch((error) => Promise.reject(ofProxy(error, proxy.host)));
      return Object.assign(pool, { connect: connectTo });
    },
  });
}

/** Asks a proxy for a tunnel. */
type Ask = (to: Dispatcher.ConnectOptions) => Promise<Pick<Dispatcher.ConnectData, 'statusCode' | 'socket'>>;

/** The proxy ended the connection, or did not answer as a proxy does. `connectFailure` has the sentence. */
class NoTunnelError extends Error {
  readonly code = 'NO_TUNNEL';
}

/** Codes of such errors. An empty one is that of a SOCKS5 proxy that ended the connection or did not answer. */
const NO_TUNNEL = /^(?:UND_ERR_SOCKET|UND_ERR_SOCKS5_.*|ECONNRESET|EPIPE|)$/;

/**
 * Adds the proxy to an error, since neither a certificate error nor a reset says whose it is. Replaces undici's error
 * for a closed connection: after that one, undici connects to the proxy again immediately, and never gives up.
 */
function ofProxy(error: NodeJS.ErrnoException, proxy: string): Error {
  const made = !NO_TUNNEL.test(error.code ?? '');
  return Object.assign(made ? error : new NoTunnelError(error.message, { cause: error }), { proxy });
}

/** Adds the setting that led to a proxy to errors. */
function explained(connect: buildConnector.connector, settings: ProxySettings): buildConnector.connector {
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error === null) return callback(null, socket!);
      const isHttps = options.protocol === 'https:' && settings.httpsProxy !== '';
      callback(Object.assign(error, { setting: isHttps ? 'HTTPS_PROXY' : 'HTTP_PROXY' }), null);
    });
}

/** undici passes an IP address as the name of the server, which newer versions of Node refuse. */
function withoutAddress(connect: buildConnector.connector): buildConnector.connector {
  return ({ servername, ...options }, callback) =>
    connect({ ...options, ...(servername && isIP(servername) === 0 && { servername }) }, callback);
}

/**
 * Reads one setting. As with curl, the scheme may be missing. Errors never show the value, which may have a
 * password.
 */
function proxyUrl(env: ProxyEnv, name: string): string {
  const value = (env[name.toLowerCase()] ?? env[name] ?? '').trim();
  if (value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  // undici gets a SOCKS5 proxy as one of `http:`.
  if (
    /^(?:https?|socks5?h?):/i.test(url) &&
    URL.canParse(url.replace(/^socks5?h?:/i, 'http:')) &&
    isDecodable(url)
  )
    return url;
  throw new ConfigError(`${name} is not the URL of a proxy`, {
    hint: 'write it like http://proxy.example:8080, with %25 for a % in its password, or unset it',
  });
}

/** Whether user name and password can be decoded. A `%` in them must be written as `%25`. */
function isDecodable(url: string): boolean {
  const { username, password } = new URL(url);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}
