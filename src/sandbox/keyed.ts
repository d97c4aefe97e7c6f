/**
 * The servers that ask for a key in their address: the control route, which is the API for tests in other processes
 * and languages, and the page. They listen on loopback only.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import { type Answer, refuse } from './answer.js';
import type { Api } from './api.js';
import type { Events } from './events.js';
import { answersTo, sameText } from './listen.js';
import { asset, page, shell, stranger } from './page/shell.js';

/** Maximum size of a request body, in bytes. A body is a fault spec or settings. */
const MOST_BYTES = 64 * 1024;

export interface Keyed {
  server: Server;
  /** The path that all requests begin with: a slash and the key. */
  path: string;
}

/** What differs between the servers. */
interface Rules {
  headers: Readonly<Record<string, string>>;
  /** Refuses a request for what it is, whatever its key; undefined if it is allowed. */
  refusal(headers: IncomingHttpHeaders, method: string): Answer | undefined;
  /** The answer to a request with another key. */
  stranger: Answer;
  /** The answer to a request that is not for the API, or the target of one that is. */
  other(rest: string, request: IncomingMessage, base: string): Answer | string;
}

function createKeyed(api: Api, events: Events, rules: Rules): Keyed {
  // 144 bits in the path: only those who know the address can use it.
  const key = randomBytes(18).toString('base64url');
  const server = createServer((request, reply) => {
    const { method = '', url = '/' } = request;
    const send = ({ status, headers, body }: Answer): void => {
      const length = { 'content-length': String(Buffer.byteLength(body)) };
      reply.writeHead(status, { ...rules.headers, ...headers, ...length }).end(body);
    };
    const refusal = rules.refusal(request.headers, method);
    if (refusal !== undefined) return send(refusal);
    const [, given = '', rest = '/'] = /^\/([^/?#]*)(\/.*)?$/s.exec(url) ?? [];
    if (!sameText(given, key)) return send(rules.stranger);
    const target = rules.other(rest, request, `/${key}/`);
    if (typeof target !== 'string') return send(target);
    if (method === 'GET' && target === '/events') return events.attach(reply, rules.headers);
    void readBody(request).then(
      async (body) => send(body === undefined ? TOO_LONG : await api.answer(method, target, body)),
      () => reply.destroy(),
    );
  });
  return { server, path: `/${key}` };
}

const TOO_LONG = refuse(
  413,
  { where: 'body', message: `more than ${MOST_BYTES} bytes` },
  { connection: 'close' },
);

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

/**
 * Where a browser sends a request from; a program does not say. It is `none` for an address that the user typed.
 */
const siteOf = ({ 'sec-fetch-site': site = 'none' }: IncomingHttpHeaders) => site;

/** The control route refuses requests that a web page could send. */
export function createControl(api: Api, events: Events): Keyed {
  return createKeyed(api, events, {
    headers: {},
    // A web page can reach loopback, too: through a host name that resolves to it, or by sending a form.
    refusal: (headers) =>
      headers.origin !== undefined || siteOf(headers) !== 'none' || !answersTo(headers.host, '127.0.0.1')
        ? refuse(403, { message: 'this is for programs on this machine only' })
        : undefined,
    stranger: refuse(403, {
      message: 'the key is missing: use the address that was printed at the start',
    }),
    other: (rest) => rest,
  });
}

/** Nothing from other hosts, no inline script, no way for data to become script, and no framing. */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
};
const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/** The page: its document, module, and style sheet, and the API for the page itself and for programs. */
export function createPage(api: Api, events: Events): Keyed {
  const { server, path } = createKeyed(api, events, {
    headers: PAGE_HEADERS,
    // Another origin, or another host name (DNS rebinding).
    refusal({ host, origin }, method) {
      if (host === undefined || !answersTo(host, '127.0.0.1'))
        return refuse(403, { where: 'Host', message: 'this page is for this machine only' });
      if (origin !== undefined && origin !== `http://${host}`)
        return refuse(403, { where: 'Origin', message: 'this page is not for other pages' });
      if (METHODS.includes(method)) return undefined;
      return refuse(405, { message: `${method} is not supported` }, { allow: METHODS.join(', ') });
    },
    stranger: { ...page(stranger()), status: 403 },
    other(rest, { method = '', headers }, base) {
      const [, target] = /^\/api(\/.*)$/s.exec(rest) ?? [];
      if (target === undefined) {
        if (method !== 'GET' && method !== 'HEAD')
          return refuse(405, { message: 'only GET' }, { allow: 'GET' });
        return asset(rest.split('?', 1)[0]!.slice(1)) ?? page(shell(base));
      }
      if (['same-origin', 'none'].includes(siteOf(headers) as string)) return target;
      return refuse(403, { message: 'the page itself may ask this' });
    },
  });
  return { server, path: `${path}/` };
}
