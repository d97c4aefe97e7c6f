/** Starts and stops servers: an error about a port says what to do, and requests in flight may finish. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UsageError } from '../engine/errors.js';

/** How long requests in flight may take when the sandbox stops, in milliseconds. */
const GRACE_MS = 2_000;

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
    const { code } = error as NodeJS.ErrnoException;
    const hints: Readonly<Record<string, string>> = {
      EADDRINUSE: `another program uses this port: choose another one, or let the system pick one with ${flag} 0`,
      EACCES: `ports below 1024 need special permissions: choose another one, or let the system pick one with ${flag} 0`,
      EADDRNOTAVAIL: '--host must be an address of this machine, such as 127.0.0.1',
      ENOTFOUND: '--host must be an address of this machine, such as 127.0.0.1',
    };
    throw new UsageError(`cannot listen on ${host} port ${port} (${code})`, {
      hint: hints[code ?? ''] ?? `choose another port, or let the system pick one with ${flag} 0`,
      cause: error,
    });
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
