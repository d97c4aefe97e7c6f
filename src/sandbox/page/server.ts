/**
 * The server of the page: its document, module, and style sheet, and the sandbox's API. All paths begin with
 * a key that is made at the start, so only those who know the address can open anything.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, refuse } from '../answer.js';
import type { Api } from '../api.js';
import { createKeyed, type Keyed } from '../control.js';
import type { Events } from '../events.js';
import { answersTo } from '../guard.js';
import { ICON, readAsset, shell, stranger } from './shell.js';

/** Nothing from other hosts, no inline script, no way for data to become script, and no framing. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
};

const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

const ASSETS: Readonly<Record<string, () => Answer>> = {
  'page.js': () => file('js', readAsset('page.js')),
  'page.css': () => file('css', readAsset('page.css')),
  'icon.svg': () => file('svg', ICON),
};

export function createPage(api: Api, events: Events): Keyed {
  const { server, path } = createKeyed(api, events, {
    headers: HEADERS,
    refusal: ({ method, headers }) => refusalOf(method ?? '', headers),
    stranger: () => ({ ...file('html', stranger()), status: 403 }),
    other: (rest, { method, headers }, key) => {
      const [, target] = /^\/api(\/.*)$/s.exec(rest) ?? [];
      if (target !== undefined && !mayAsk(headers))
        return refuse(403, { message: 'the page itself may ask this' });
      if (target !== undefined) return target;
      if (method !== 'GET' && method !== 'HEAD')
        return refuse(405, { message: 'only GET' }, { allow: 'GET' });
      const name = rest.split('?', 1)[0]!.slice(1);
      return Object.hasOwn(ASSETS, name) ? ASSETS[name]!() : file('html', shell(`/${key}/`));
    },
  });
  return { server, path: `${path}/` };
}

/**
 * Refuses requests from another origin, for another host name (DNS rebinding), or with another method;
 * undefined if allowed.
 */
function refusalOf(method: string, { host, origin }: IncomingHttpHeaders): Answer | undefined {
  if (host === undefined || !answersTo(host, '127.0.0.1'))
    return refuse(403, { where: 'Host', message: 'this page is for this machine only' });
  if (origin !== undefined && origin !== `http://${host}`)
    return refuse(403, { where: 'Origin', message: 'this page is not for other pages' });
  if (!['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'].includes(method))
    return refuse(
      405,
      { message: `${method} is not supported` },
      { allow: 'GET, HEAD, POST, PATCH, DELETE' },
    );
  return undefined;
}

/**
 * Whether the API may be called: browsers send `Sec-Fetch-Site`; a program does not, and only needs the key.
 */
function mayAsk(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin' || site === 'none';
}

function file(type: keyof typeof TYPES, body: string): Answer {
  return { status: 200, headers: { 'content-type': TYPES[type] }, body };
}
