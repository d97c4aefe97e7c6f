/**
 * The control route of a running sandbox: its API for tests in other processes and languages. It listens on
 * loopback only, and refuses requests that a web page could send.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type Answer, refuse } from './answer.js';
import type { Api } from './api.js';
import type { Events } from './events.js';
import { answersTo } from './host.js';

/** Maximum size of a request body, in bytes. A body is a fault spec or settings. */
const MOST_BYTES = 64 * 1024;

export function createControl(api: Api, events: Events): Server {
  return createServer((request, reply) => {
    const { host, origin } = request.headers;
    const { method = '', url = '/' } = request;
    const send = ({ status, headers, body }: Answer): void => {
      reply.writeHead(status, headers).end(body);
    };
    // A web page can reach loopback, too: through a host name that resolves to it, or by sending a form.
    if (origin !== undefined || fromPage(request) || !answersTo(host, '127.0.0.1'))
      return send(refuse(403, { message: 'this is for programs on this machine only' }));
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
