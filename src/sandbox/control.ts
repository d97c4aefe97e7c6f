/**
 * The control route of a running sandbox: its API for tests in other processes and languages. It listens on
 * loopback only, asks for the key in its address, and refuses requests that a web page could send.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type Answer, refuse } from './answer.js';
import type { Api } from './api.js';
import type { Events } from './events.js';
import { answersTo } from './host.js';
import { sameText } from './same-text.js';

/** Maximum size of a request body, in bytes. A body is a fault spec or settings. */
const MOST_BYTES = 64 * 1024;

export interface Keyed {
  server: Server;
  /** The path that all requests begin with: a slash and the key. */
  path: string;
}

/** A key of 144 bits, for the path of an address: only those who know the address can use it. */
export const newKey = (): string => randomBytes(18).toString('base64url');

/** The path after the key; undefined if the key is another one. */
export function pathAfter(key: string, url: string): string | undefined {
  const [, given = '', rest = '/'] = /^\/([^/?#]*)(\/.*)?$/s.exec(url) ?? [];
  return sameText(given, key) ? rest : undefined;
}

export function createControl(api: Api, events: Events): Keyed {
  const key = newKey();
  const server = createServer((request, reply) => {
    const { host, origin } = request.headers;
    const { method = '' } = request;
    const send = ({ status, headers, body }: Answer): void => {
      reply.writeHead(status, headers).end(body);
    };
    // A web page can reach loopback, too: through a host name that resolves to it, or by sending a form.
    if (origin !== undefined || fromPage(request) || !answersTo(host, '127.0.0.1'))
      return send(refuse(403, { message: 'this is for programs on this machine only' }));
    const url = pathAfter(key, request.url ?? '');
    if (url === undefined)
      return send(
        refuse(403, { message: 'the key is missing: use the address that was printed at the start' }),
      );
    if (method === 'GET' && url === '/events') return events.attach(reply, {});
    void readBody(request).then(
      async (body) =>
        send(
          body === undefined
            ? refuse(
                413,
                { where: 'body', message: `more than ${MOST_BYTES} bytes` },
                { connection: 'close' },
              )
            : await api.answer(method, url, body),
        ),
      () => reply.destroy(),
    );
  });
  return { server, path: `/${key}` };
}

/**
 * Browsers send `Sec-Fetch-Site` with every request of a page; for an address that the user typed, it is
 * `none`.
 */
function fromPage({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'none';
}

/** @returns undefined if the body is too large */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MOST_BYTES) chunks.push(chunk);
  }
  return bytes > MOST_BYTES ? undefined : Buffer.concat(chunks).toString('utf8');
}
