/** Connections through a proxy. */
import { isIP } from 'node:net';
import undici, { type buildConnector, type Dispatcher, type Pool } from 'undici';
import { type ProxySettings, settingFor } from './address.js';
import type { Connection } from './connection.js';

type Connector = buildConnector.connector;

interface ProxyOptions extends Omit<Pool.Options, 'connect'> {
  /** For connections to the proxy, to the service, and past the proxy. */
  connect: buildConnector.BuildOptions;
  /** How long the proxy may take to make a tunnel, milliseconds. Default: 5 min. */
  tunnelTimeoutMs?: number;
  /** Watches the connection to the service. */
  watch?: Connection;
}

/** Makes a dispatcher that uses the proxies. Requests of `http:` are tunneled (CONNECT), too. */
export function proxyAgent(
  settings: ProxySettings,
  { connect, tunnelTimeoutMs, watch, ...common }: ProxyOptions,
): Dispatcher {
  const plain = undici.buildConnector(connect);
  /** Makes what sends to the service: past the proxy, unless it gets a function to connect. */
  const factory = (origin: string | URL, { connect: tunnel, ...pool }: Pool.Options): Dispatcher => {
    const proxy = settings[settingFor(new URL(origin), settings)];
    if (typeof tunnel === 'function' && isSocks(proxy)) return socksAgent(proxy, plain);
    const connector = typeof tunnel === 'function' ? tunnel : plain;
    return new undici.Pool(origin, { ...pool, connect: watch?.watched(connector) ?? connector });
  };
  return new undici.EnvHttpProxyAgent({
    ...common,
    httpProxy: asHttp(settings.HTTP_PROXY),
    httpsProxy: asHttp(settings.HTTPS_PROXY),
    noProxy: settings.NO_PROXY,
    connect,
    proxyTls: connect,
    requestTls: connect,
    factory,
    clientFactory: (proxy, { connect: own, ...options }: Pool.Options) => {
      const pool = new undici.Pool(proxy.origin, {
        ...options,
        connect: withoutAddress(own as Connector),
        ...(tunnelTimeoutMs && { headersTimeout: tunnelTimeoutMs }),
      });
      const ask = pool.connect.bind(pool) as Ask;
      const connectTo: Ask = (to) => ask(to).catch((error) => Promise.reject(ofProxy(error, proxy.host)));
      return Object.assign(pool, { connect: connectTo });
    },
  });
}

/** Asks a proxy for a tunnel. */
type Ask = (to: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData>;

const SOCKS = /^socks5h?:/i;
const isSocks = (proxy: string): boolean => SOCKS.test(proxy);

/** undici's agent chooses the proxy by `NO_PROXY`, so it gets a SOCKS5 proxy as one of `http:`, too. */
const asHttp = (proxy: string): string => proxy.replace(SOCKS, 'http:');

/** The shortest answers of a SOCKS5 proxy that made a tunnel, in bytes. */
const LEAST_ANSWERS = 9;

/** Sends through a SOCKS5 proxy. undici's agent does not notice that the proxy has closed the connection. */
function socksAgent(proxy: string, connect: Connector): Dispatcher {
  const { host } = new URL(asHttp(proxy));
  return new undici.Socks5ProxyAgent(proxy.replace(SOCKS, 'socks5:'), {
    connect: (options, callback) =>
      connect(options, (error, socket) => {
        if (error) return callback(ofProxy(error, host), null);
        const hasTunnel = (): boolean => socket!.bytesRead >= LEAST_ANSWERS;
        socket!.once('end', () => hasTunnel() || socket!.destroy(new Error('other side closed')));
        socket!.once('error', (cause) => hasTunnel() || Object.assign(cause, { code: 'NO_TUNNEL' }));
        callback(null, socket!);
      }),
  });
}

/** The proxy ended the connection, or did not answer as a proxy does. `failure.ts` has the sentence. */
class NoTunnelError extends Error {
  readonly code = 'NO_TUNNEL';
}

/**
 * Adds the proxy to an error, since neither a certificate error nor a reset says whose it is. Replaces undici's error
 * for a closed connection: after that one, undici connects to the proxy again immediately, and never gives up.
 */
function ofProxy(error: NodeJS.ErrnoException, proxy: string): Error {
  const made = !/^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(error.code ?? '');
  return Object.assign(made ? error : new NoTunnelError(error.message, { cause: error }), { proxy });
}

/** undici passes an IP address as the name of the server, which newer versions of Node refuse. */
function withoutAddress(connect: Connector): Connector {
  return ({ servername, ...options }, callback) =>
    connect({ ...options, ...(servername && isIP(servername) === 0 && { servername }) }, callback);
}
