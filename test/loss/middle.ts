/**
 * A bad line to the sandbox: real requests, forwarded or not, answered or not; and the moment at which a process dies.
 * What the service holds is asked of the sandbox.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Sandbox, type SandboxClock, startSandbox } from '../../src/sandbox/index.js';

/** What becomes of a request: carried out or not, and what the client hears of it. */
export type Fault = 'lost before' | 'lost after' | 'untraceable' | '404' | '413' | '422' | '503';

export class Middle {
  /** Asked for each request. */
  trouble: (sort: 'submit' | 'poll') => Fault | null = () => null;
  /** Told when a request has arrived, and when it was carried out. */
  moment: () => void = () => {};
  /** Nothing gets through any more, and nothing is answered. */
  dead = false;
  readonly sandbox: Sandbox;
  readonly #server: Server;

  private constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => request.socket.destroy());
    });
  }

  /** @param rowsPerSecond asked for each job, so that jobs end in any order */
  static async start(clock: SandboxClock, rowsPerSecond: () => number): Promise<Middle> {
    const sandbox = await startSandbox({ clock, ports: { eu: null } });
    Object.defineProperty(sandbox.limits, 'rowsPerSecond', { get: rowsPerSecond });
    const middle = new Middle(sandbox);
    await new Promise<void>((resolve) => middle.#server.listen(0, '127.0.0.1', resolve));
    return middle;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.sandbox.stop();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.moment();
    const fault = this.trouble(request.method === 'POST' ? 'submit' : 'poll');
    if (this.dead || fault === 'lost before') return void request.socket.destroy();
    if (fault !== null && /^\d/.test(fault)) return reply(response, Number(fault), '{"errors":[]}');
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers;
    const answer = await fetch(`${this.sandbox.url}${request.url}`, {
      method: request.method!,
      headers: headers as Record<string, string>,
      ...(request.method === 'POST' ? { body: Buffer.concat(chunks) } : {}),
    });
    const text = await answer.text();
    this.moment();
    if (this.dead || fault === 'lost after') return void request.socket.destroy();
    reply(response, answer.status, fault === 'untraceable' ? '{}' : text);
  }
}

function reply(response: ServerResponse, status: number, body: string): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length }).end(body);
}
