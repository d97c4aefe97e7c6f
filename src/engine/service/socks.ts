/**
 * Tunnels through a SOCKS5 proxy. Not the agent of undici: it never closes its connection to a proxy that does not
 * answer, which keeps the process from ending.
 */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** The fragment of the URL of a SOCKS5 proxy in the form for undici. */
const MARK = '#socks';

const TIMEOUT_MS = 30_000;

/** A URL of a SOCKS5 proxy as one of `http:`, since undici would use its own agent; others as they are. */
export function asHttp(proxy: string): string {
  const [scheme] = /^socks5?h?:/i.exec(proxy) ?? [];
  if (scheme === undefined) return proxy;
  const url = new URL(`http:${proxy.slice(scheme.length)}`);
  url.port = new URL(proxy).port || '1080';
  return new URL(MARK, url).href;
}

/** Whether this is the URL of a SOCKS5 proxy, made by `asHttp`. */
export const isSocks = ({ hash }: URL): boolean => hash === MARK;

/**
 * Makes a tunnel.
 * @param proxy made by `asHttp`
 * @param to host and port
 * @param timeoutMs how long the proxy may take once it has accepted the connection
 * @returns what undici expects of a proxy that speaks HTTP
 */
export async function socksTunnel(
  proxy: URL,
  to: string,
  connect: buildConnector.connector,
  timeoutMs = TIMEOUT_MS,
): Promise<{ socket: Socket; statusCode: 200 }> {
  const { default: socks5 } = await import('undici/lib/core/socks5-client.js'); // only for those who need it
  const { username, password, hostname, host, port } = proxy;
  const socket = await new Promise<Socket>((resolve, reject) =>
    connect(
      { hostname: hostname.replace(/^\[|\]$/g, ''), host, port: port || '80', protocol: 'http:' },
      (error, made) => (error === null ? resolve(made!) : reject(error)),
    ),
  );
  const client = new socks5.Socks5Client(socket, {
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
  });
  const [, name = '', at = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(to) ?? [];
  const timer = setTimeout(() => socket.destroy(new Error('it did not answer in time')), timeoutMs);
  try {
    await new Promise<void>((resolve, reject) => {
      client.on('authenticated', () => client.connect(name, Number(at)));
      client.on('connected', () => resolve());
      client.on('error', reject);
      client.on('close', () => reject(new Error('other side closed')));
      client.handshake();
    });
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return { socket, statusCode: 200 };
}
