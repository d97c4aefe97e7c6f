/**
 * Connections to the service, directly or through a proxy. Each carries one request at a time. Interim replies are taken
 * out of what is read from its socket before undici parses it: undici 7 destroys a connection on a `100 Continue` that it
 * did not ask for, and fails an assertion on other statuses. net and tls pass what they read to `socket.push`, which is
 * replaced on the socket; nothing of undici itself is changed.
 */
import { isIP, type Socket } from 'node:net';
import undici, { type buildConnector, type Dispatcher, type Pool } from 'undici';
import { type ProxySettings, settingFor } from './address.js';

type Connector = buildConnector.connector;

/** The beginning of a reply, with its status. */
const STATUS = /^(?:\r?\n)?HTTP\/\d\.\d (\d{3})/;
const NOTHING = Buffer.alloc(0);

export class Connection {
  /** Sends over this connection. Connects again if the connection was closed. */
  dispatcher!: Dispatcher;
  /** Whether another request can be sent over it. */
  isUsable = false;
  /** Whether no reply has come over its socket yet. */
  isFresh = true;
  /** Whether a request was written, and its final reply has not begun. */
  #isWaiting = false;
  /** The beginning of a reply, until its kind is known, and all of an interim one. */
  #held: Buffer = NOTHING;
  #socket: Socket | null = null;

  /** @param compiling see `TransportOptions` */
  constructor(
    readonly origin: string,
    private readonly compiling = (compile: () => void) => compile(),
  ) {}

  /** Returns a connector that makes the socket of this connection. */
  watched(connect: Connector): Connector {
    return (options, callback) =>
      connect(options, (error, socket) => {
        if (error) return callback(error, null);
        this.#watch(socket!);
        this.compiling(() => callback(null, socket!));
      });
  }

  /** Call this right before a request is written. */
  begins(): void {
    this.#isWaiting = true;
  }

  /** Whether the operating system has taken all that was written so far. */
  get hasWritten(): boolean {
    return this.#socket?.writableLength === 0;
  }

  /**
   * Resolves when the operating system has taken all that was written so far, or the connection has ended: a service may
   * reply before it has read the whole request.
   */
  async written(): Promise<void> {
    const socket = this.#socket;
    if (socket && socket.writableLength > 0)
      await new Promise<void>((resolve) => socket.write('', () => resolve()));
  }

  #watch(socket: Socket): void {
    const push = socket.push.bind(socket);
    this.#socket = socket;
    this.isFresh = true;
    this.#held = NOTHING;
    socket.push = (chunk: Buffer | null): boolean => {
      const bytes = chunk === null ? this.#held : this.#read(chunk);
      const goesOn = bytes.length === 0 || push(bytes);
      return chunk === null ? push(null) : goesOn;
    };
  }

  /** Returns the bytes of a chunk that undici may read: no interim replies. */
  #read(chunk: Buffer): Buffer {
    if (!this.#isWaiting) return chunk;
    this.#held = Buffer.concat([this.#held, chunk]);
    for (;;) {
      const line = this.#held.toString('latin1', 0, 15);
      if (line.length < 15) return NOTHING; // its status may not be known yet
      const [, status = ''] = STATUS.exec(line) ?? [];
      if (/^(?:0|101)/.test(status)) return this.#refuse(`its status is ${status}`);
      if (!status.startsWith('1')) break;
      const end = this.#held.indexOf('\r\n\r\n');
      // An interim reply has no more than 64 KiB.
      if (end < 0)
        return this.#held.length > 64 << 10 ? this.#refuse('an interim reply has no end') : NOTHING;
      this.#held = this.#held.subarray(end + 4);
    }
    const bytes = this.#held;
    this.#isWaiting = false;
    this.#held = NOTHING;
    return bytes;
  }

  /** Destroys the connection, with an error that is named as those of undici's parser are. */
  #refuse(reason: string): Buffer {
    this.#held = NOTHING;
    this.#socket!.destroy(Object.assign(new Error(reason), { name: 'HTTPParserError' }));
    return NOTHING;
  }
}

interface ProxyOptions extends Omit<Pool.Options, 'connect'> {
  /** For connections to the proxy, to the service, and past the proxy. */
  connect: buildConnector.BuildOptions;
  /** Watches the connection to the service. */
  watch?: Connection;
}

/** Makes a dispatcher that uses the proxies. Requests of `http:` are tunneled (CONNECT), too. */
export function proxyAgent(settings: ProxySettings, { connect, watch, ...common }: ProxyOptions): Dispatcher {
  const plain = undici.buildConnector(connect);
  /** Makes what sends to the service: past the proxy, unless it gets a function to connect. */
  const factory = (origin: string | URL, { connect: tunnel, ...pool }: Pool.Options): Dispatcher => {
    const proxy = settings[settingFor(new URL(origin), settings)];
    if (typeof tunnel === 'function' && SOCKS.test(proxy)) {
      const { host } = new URL(asHttp(proxy));
      const connectTo: Connector = (to, done) =>
        plain(to, (...[error, socket]) => (error ? done(ofProxy(error, host), null) : done(null, socket)));
      return new undici.Socks5ProxyAgent(proxy.replace(SOCKS, 'socks5:'), { connect: connectTo });
    }
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
    clientFactory: (proxy, options: Pool.Options) => {
      // undici passes an address as the name for TLS, too, which newer versions of Node refuse.
      const named: Connector = ({ servername = '', ...to }, done) =>
        (options.connect as Connector)(isIP(servername) ? to : { ...to, servername }, done);
      const pool = new undici.Pool(proxy.origin, { ...common, ...options, connect: named });
      const ask = pool.connect.bind(pool) as Ask;
      const connectTo: Ask = (to) => ask(to).catch((error) => Promise.reject(ofProxy(error, proxy.host)));
      return Object.assign(pool, { connect: connectTo });
    },
  });
}

/** Asks a proxy for a tunnel. */
type Ask = (to: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData>;

const SOCKS = /^socks5h?:/i;

/** undici's agent chooses the proxy by `NO_PROXY`, so it gets a SOCKS5 proxy as one of `http:`, too. */
const asHttp = (proxy: string): string => proxy.replace(SOCKS, 'http:');

/**
 * Adds the proxy to an error, since neither a certificate error nor a reset says whose it is. Replaces undici's error
 * for a closed connection: after that one, undici connects to the proxy again immediately, and never gives up.
 */
function ofProxy(error: NodeJS.ErrnoException, proxy: string): Error {
  if (!/^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(error.code ?? '')) return Object.assign(error, { proxy });
  return Object.assign(new Error(error.message, { cause: error }), { code: 'NO_TUNNEL', proxy });
}
