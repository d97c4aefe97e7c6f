/**
 * The control route of a running sandbox: its API for tests in other processes and languages. It listens on
 * loopback only, asks for the key in its address, and refuses requests that a web page could send.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type Answer, refuse } from './answer.js';
import type { Api } from './api.js';
import type { Events } from './events.js';
import { answersTo, sameText } from './guard.js';

/** Maximum size of a request body, in bytes. A body is a fault spec or settings. */
const MOST_BYTES = 64 * 1024;

export interface Keyed {
  server: Server;
  /** The path that all requests begin with: a slash and the key. */
  path: string;
}

/** What differs between the servers that ask for a key. */
interface Rules {
  headers: Readonly<Record<string, string>>;
  /** Refuses a request for what it is, whatever its key; undefined if it is allowed. */
  refusal(request: IncomingMessage): Answer | undefined;
  /** The answer to a request with another key. */
  stranger(): Answer;
  /** The answer to a request that is not for the API, or the target of one that is. */
  other(rest: string, request: IncomingMessage, key: string): Answer | string;
}

/** A server of the API, for those who have the key that is made here. */
export function createKeyed(api: Api, events: Events, rules: Rules): Keyed {
  // 144 bits in the path: only those who know the address can use it.
  const key = randomBytes(18).toString('base64url');
  const server = createServer((request, reply) => {
    const { method = '', url = '/' } = request;
    const send = ({ status, headers, body }: Answer): void => {
      const length = { 'content-length': String(Buffer.byteLength(body)) };
      reply.writeHead(status, { ...rules.headers, ...headers, ...length }).end(body);
    };
    const refusal = rules.refusal(request);
    if (refusal !== undefined) return send(refusal);
    const [, given = '', rest = '/'] = /^\/([^/?#]*)(\/.*)?$/s.exec(url) ?? [];
    if (!sameText(given, key)) return send(rules.stranger());
    const target = rules.other(rest, request, key);
    if (typeof target !== 'string') return send(target);
    if (method === 'GET' && target === '/events') return events.attach(reply, rules.headers);
    const tooLong = { where: 'body', message: `more than ${MOST_BYTES} bytes` };
    void readBody(request).then(
      async (body) =>
        send(body === undefined ? refuse(413, tooLong, CLOSE) : await api.answer(method, target, body)),
      () => reply.destroy(),
    );
  });
  return { server, path: `/${key}` };
}

const CLOSE = { connection: 'close' };

const OTHERS = refuse(403, { message: 'this is for programs on this machine only' });
const NO_KEY = refuse(403, {
  message: 'the key is missing: use the address that was printed at the start',
});

export function createControl(api: Api, events: Events): Keyed {
  return createKeyed(api, events, {
    headers: {},
    // A web page can reach loopback, too: through a host name that resolves to it, or by sending a form.
    refusal: (request) => {
      const { host, origin } = request.headers;
      return origin !== undefined || fromPage(request) || !answersTo(host, '127.0.0.1') ? OTHERS : undefined;
    },
    stranger: () => NO_KEY,
    other: (rest) => rest,
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
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MOST_BYTES) chunks.push(chunk);
  }
  return bytes > MOST_BYTES ? undefined : Buffer.concat(chunks).toString('utf8');
}
