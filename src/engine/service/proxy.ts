/** Proxy settings, from the environment that the caller passes. */
import type { EnvHttpProxyAgent, Pool } from 'undici';
import { ConfigError } from '../errors.js';
import type { Connections } from './connection.js';

/** Proxy settings by their usual names, in upper or lower case: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`. */
export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/** All three are always set: undici would read a missing one from the environment of the process. */
export type ProxySettings = Required<Pick<EnvHttpProxyAgent.Options, 'httpProxy' | 'httpsProxy' | 'noProxy'>>;

/**
 * Reads the proxy settings; null if no proxy is set.
 * @throws ConfigError for a value that is not a URL, or has an unsupported scheme
 */
export function proxySettings(env: ProxyEnv): ProxySettings | null {
  const httpProxy = proxyUrl(env, 'HTTP_PROXY');
  const httpsProxy = proxyUrl(env, 'HTTPS_PROXY');
  if (!httpProxy && !httpsProxy) return null;
  return { httpProxy, httpsProxy, noProxy: env.no_proxy ?? env.NO_PROXY ?? '' };
}

/**
 * Makes a dispatcher that uses the proxies. Requests of `http:` are tunneled (CONNECT), too. Imports the
 * index of undici, which loads slowly, because only the index has what a tunnel needs.
 */
export async function proxyAgent(
  options: EnvHttpProxyAgent.Options,
  connections: Connections,
): Promise<EnvHttpProxyAgent> {
  const { default: undici } = await import('undici'); // the bundled CommonJS module has only a default export
  // The agent makes the connector of a tunnel itself and passes it to the pool, so it is watched here.
  const factory = (origin: string | URL, { connect, ...pool }: Pool.Options): Pool =>
    new undici.Pool(origin, { ...pool, connect: connections.watched(connect ?? {}) });
  return new undici.EnvHttpProxyAgent({ ...options, factory });
}

/** Whether a request may go through SOCKS. */
export const isSocks = (settings: ProxySettings | null): boolean =>
  settings !== null && [settings.httpProxy, settings.httpsProxy].some((url) => url?.startsWith('socks'));

/**
 * Reads one setting. As with curl, the scheme may be missing. Errors never show the value, which may have a
 * password.
 */
function proxyUrl(env: ProxyEnv, name: string): string {
  const value = (env[name.toLowerCase()] ?? env[name] ?? '').trim();
  if (value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  if (URL.canParse(url) && /^(?:https?|socks5?):$/.test(new URL(url).protocol)) return url;
  throw new ConfigError(`${name} is not the URL of a proxy`, {
    hint: 'write it like http://proxy.example:8080, or unset it',
  });
}
