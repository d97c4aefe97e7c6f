/**
 * The servers that ask for a key in their address: the control route, which is the API for tests in other processes
 * and languages, and the page, which has the same API below `/api`. They listen on loopback only.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { type Answer, refuse } from './answer.js';
import type { Api } from './api.js';
import { answersTo, readBody, sameText } from './listen.js';

/** Maximum size of a request body, in bytes. A body is a fault spec or settings. */
const MOST_BYTES = 64 * 1024;
/** How often listeners are told what changed, in milliseconds. */
const TICK_MS = 250;

/** Nothing from other hosts, no inline script, no way for data to become script, and no framing. */
const HEADERS: Readonly<Record<string, string>> = {
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

const OTHERS = refuse(403, { message: 'this is for programs on this machine only' });
const NO_KEY = refuse(403, { message: 'the key is missing: use the address that was printed at the start' });
const LONG = { where: 'body', message: `more than ${MOST_BYTES} bytes` };
const TOO_LONG = refuse(413, LONG, { connection: 'close' });
const ONLY_GET = refuse(405, { message: 'only GET' }, { allow: 'GET' });

/** Answers with a stream of the overviews. */
type Events = (reply: ServerResponse) => void;

/**
 * @returns the server, and the path that all requests begin with: a slash and the key
 */
export function createKeyed(what: 'control' | 'page', api: Api, events: Events) {
  // 144 bits in the path: only those who know the address can use it.
  const key = randomBytes(18).toString('base64url');
  const isPage = what === 'page';
  const server = createServer((request, reply) => {
    const { method = '', url = '/', headers } = request;
    const send = ({ status, headers, body }: Answer): void => {
      const length = { 'content-length': String(Buffer.byteLength(body)) };
      reply.writeHead(status, { ...HEADERS, ...headers, ...length }).end(body);
    };
    // A web page can reach loopback, too: through a host name that resolves to it, or by sending a form. A program names
    // no origin and no site.
    const { host, origin, 'sec-fetch-site': site = 'none' } = headers;
    const isOwn = origin === undefined || (isPage && origin === `http://${host}`);
    if (!isOwn || !answersTo(host, '127.0.0.1')) return send(OTHERS);
    const [, given = '', rest = '/'] = /^\/([^/?#]*)(\/.*)?$/s.exec(url) ?? [];
    if (!sameText(given, key)) return send(NO_KEY);
    const target = isPage ? /^\/api(\/.*)$/s.exec(rest)?.[1] : rest;
    if (target === undefined)
      return send(method === 'GET' || method === 'HEAD' ? pageFile(rest.slice(1), `/${key}/`) : ONLY_GET);
    if (site !== 'none' && !(isPage && site === 'same-origin')) return send(OTHERS);
    if (method === 'GET' && target === '/events') return events(reply);
    void readBody(request, MOST_BYTES).then(
      async (body) => send(body === undefined ? TOO_LONG : await api.answer(method, target, body.toString())),
      () => reply.destroy(),
    );
  });
  return { server, path: isPage ? `/${key}/` : `/${key}` };
}

/** Where the page's files are: beside the bundle, or in dist/ if the sources are run directly. */
const PLACES = ['./', '../../dist/'];
const TYPES: Readonly<Record<string, string>> = { 'page.js': 'text/javascript', 'page.css': 'text/css' };

/**
 * One of the page's files; for all views, its document.
 * @param base path that all addresses of the page begin with
 */
function pageFile(name: string, base: string): Answer {
  const text = (type: string, body: string, more = {}): Answer => ({
    status: 200,
    headers: { 'content-type': `${type}; charset=utf-8`, ...more },
    body,
  });
  // Browsers ask for it whenever the address changes, which is with each key pressed in the search.
  if (name === 'icon.svg') return text('image/svg+xml', ICON, { 'cache-control': 'private, max-age=86400' });
  if (!Object.hasOwn(TYPES, name)) return text('text/html', documentOf(base));
  const file = PLACES.map((place) => new URL(place + name, import.meta.url)).find((url) => existsSync(url));
  if (file !== undefined) return text(TYPES[name]!, readFileSync(file, 'utf8'));
  return refuse(500, { message: "the sandbox's page is not built: npm run build" });
}

const documentOf = (base: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sandbox · profiles</title>
<link rel="icon" href="${base}icon.svg">
<link rel="stylesheet" href="${base}page.css">
<script type="module" src="${base}page.js"></script>
</head>
<body data-base="${base}"><noscript>This page needs JavaScript. The same data is at ${base}api/overview.</noscript></body>
</html>
`;

/** Lines of a table in a rounded square. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#4338ca"/><path d="M8 10h16M8 16h16M8 22h9" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>';

/**
 * Streams the overview whenever it changes, as server-sent events, until the client leaves or the sandbox stops. Does
 * nothing while nobody listens.
 */
export function createEvents({ overview }: Api, stop: AbortSignal): Events {
  const listeners = new Set<ServerResponse>();
  let timer: NodeJS.Timeout | undefined;
  let last = '';

  function tick(): void {
    const current = overview();
    // While a job is unfinished, time alone is a change.
    const text = JSON.stringify(current.jobs.unfinished > 0 ? current : { ...current, now: '' });
    if (text !== last) for (const reply of listeners) reply.write(`data: ${JSON.stringify(current)}\n\n`);
    last = text;
  }
  stop.addEventListener('abort', () => {
    for (const reply of listeners) reply.end();
  });
  return (reply) => {
    reply.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream; charset=utf-8' });
    reply.write(`retry: 1000\ndata: ${JSON.stringify(overview())}\n\n`);
    listeners.add(reply);
    timer ??= setInterval(tick, TICK_MS);
    reply.once('close', () => {
      listeners.delete(reply);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
  };
}
