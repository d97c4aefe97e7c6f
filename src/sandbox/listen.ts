/**
 * Servers: they start with an error about a port that says what to do, they stop when requests in flight have
 * finished, and they know who may ask.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UsageError } from '../engine/errors.js';

/** How long requests in flight may take when the sandbox stops, in milliseconds. */
const GRACE_MS = 2_000;

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses this port',
  EACCES: 'ports below 1024 need special permissions',
};

/**
 * Starts a server, and returns its URL.
 * @param flag the flag for this port, for the hint
 * @throws UsageError if the port or the address is not available
 */
export async function listen(server: Server, host: string, port: number, flag: string): Promise<string> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const why = WHY[code] ?? 'this port cannot be used';
    const hint = /^(EADDRNOTAVAIL|ENOTFOUND)$/.test(code)
      ? '--host must be an address of this machine, such as 127.0.0.1'
      : `${why}: choose another one, or let the system pick one with ${flag} 0`;
    throw new UsageError(`cannot listen on ${host} port ${port} (${code})`, { hint, cause: error });
  }
  const { port: given } = server.address() as AddressInfo;
  // A server that listens on all addresses is reached through loopback from this machine.
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${given}`;
}

/** Accepts no more requests, lets those in flight finish, then closes all connections. */
export async function stopServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const late = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearTimeout(late);
}

/**
 * Reads a body to its end, or only its first `stopAfter` bytes.
 * @returns undefined if it has more than `most` bytes, which are not kept; `stopped` if it was not read to its end
 */
export async function readBody(
  request: IncomingMessage,
  most: number,
  stopAfter?: number,
): Promise<Buffer | undefined | 'stopped'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // If the loop ends early, the iterator must not close the connection, because it will be reset.
  const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes <= most) chunks.push(chunk);
    if (stopAfter !== undefined && bytes >= stopAfter) return 'stopped';
  }
  if (stopAfter !== undefined) return 'stopped';
  return bytes > most ? undefined : Buffer.concat(chunks);
}

/** Names that a browser resolves to this machine without DNS: 127.0.0.0/8, `::1`, and localhost. */
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|(?:[\w-]+\.)*localhost|\[::1\])(?::\d{1,5})?$/i;

/**
 * Whether a request is for this machine: a web page can let a host name of its own resolve to it (DNS rebinding).
 * @param header the `Host` of the request; a program that sends none (HTTP/1.0) is not a browser
 * @param address what the listener listens on; if it is not loopback, any name is accepted, because its names
 * are not known here
 */
export function answersTo(header: string | undefined, address: string): boolean {
  return header === undefined || LOOPBACK.test(header) || !isLoopbackAddress(address);
}

function isLoopbackAddress(address: string): boolean {
  return LOOPBACK.test(address.includes(':') ? `[${address}]` : address);
}

/** Compares two texts in constant time. */
export function sameText(a: string, b: string): boolean {
  const [digestA, digestB] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(digestA!, digestB!);
}
