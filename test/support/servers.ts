/** Servers on 127.0.0.1 that behave badly on purpose. Each is closed when its test ends. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  createServer as createHttp,
  type Server as HttpServer,
  type IncomingMessage,
  type RequestListener,
} from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export interface Listening {
  port: number;
  url: string;
}

/** Starts a server on a free port of 127.0.0.1; its connections are cut when the test ends. */
export async function listen(server: Server, scheme = 'http'): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {}); // the client went away: that is what these tests are about
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `${scheme}://127.0.0.1:${port}` };
}

/** What arrived, as it arrived. */
export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** An HTTP server that keeps what it was asked; `answer` comes after the whole request was read. */
export async function httpServer(
  answer: RequestListener,
): Promise<Listening & { seen: Seen[]; server: HttpServer }> {
  const seen: Seen[] = [];
  const server = createHttp(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method!, path: request.url!, headers: request.headers, body });
    answer(request, response);
  });
  return { ...(await listen(server)), seen, server };
}

/**
 * A TCP server that reads each request to its end, then does whatever it likes with the socket. `nth`
 * counts requests over all connections, from 1.
 */
export async function rawServer(
  act: (socket: Socket, nth: number) => void,
): Promise<Listening & { requests: string[]; sockets: Socket[]; server: Server; connections: () => number }> {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (head < 0 || text.length < head + 4 + length) return;
      requests.push(text);
      text = '';
      act(socket, requests.length);
    });
  });
  return { ...(await listen(server)), requests, sockets, server, connections: () => sockets.length };
}

/** A forward proxy that leads every tunnel to one port of this machine, or refuses it. @param only knows one name alone */
export async function tunnelTo(
  port: number,
  { refuseWith, only }: { refuseWith?: number; only?: string } = {},
): Promise<Listening & { tunnels: { to: string; headers: IncomingMessage['headers'] }[] }> {
  const tunnels: { to: string; headers: IncomingMessage['headers'] }[] = [];
  const server = createHttp((_, response) => void response.writeHead(500).end('only tunnels'));
  server.on('connect', ({ url = '', headers }, socket: Socket) => {
    tunnels.push({ to: url, headers });
    const refused = refuseWith ?? (only === undefined || url.startsWith(`${only}:`) ? undefined : 502);
    if (refused) return void socket.end(`HTTP/1.1 ${refused} No\r\n\r\n`);
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const end of [socket, onward]) end.on('error', () => {});
    onTestFinished(() => void onward.destroy());
  });
  return { ...(await listen(server)), tunnels };
}

/** A port that neither accepts nor refuses, until `end`. */
export async function deafListener(port = 0): Promise<Listening & { end(): Promise<void> }> {
  const child = fork(fileURLToPath(new URL('deaf-listener.mjs', import.meta.url)), [`${port}`], {
    execArgv: [],
  });
  const [taken] = (await once(child, 'message')) as [number];
  const queued = Array.from({ length: 4 }, () => connect(taken, '127.0.0.1').on('error', () => {}));
  const exit = once(child, 'exit');
  const end = async (): Promise<void> => {
    for (const socket of queued) socket.destroy();
    child.kill('SIGKILL');
    await exit;
  };
  onTestFinished(end);
  await new Promise((resolve) => setTimeout(resolve, 50)); // the queue fills; no event tells
  return { port: taken, url: `http://127.0.0.1:${taken}`, end };
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The bytes of a reply with its length. */
export function http(status: number, body: string, headers: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status} X`, 'Content-Type: application/json', ...headers];
  return `${[...lines, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`;
}
