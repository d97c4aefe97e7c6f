/** Proxies from the environment that is handed in, never from the process. */
import { EnvHttpProxyAgent } from 'undici';
import { ConfigError } from '../errors.js';

/** Proxy settings by their usual names, in either case: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`. */
export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/**
 * Null where no proxy is set. Plain http is tunnelled (CONNECT) as https is.
 * @throws ConfigError for a value that is no URL
 */
export function proxyAgent(env: ProxyEnv, options: EnvHttpProxyAgent.Options): EnvHttpProxyAgent | null {
  const httpProxy = proxyUrl(env, 'HTTP_PROXY');
  const httpsProxy = proxyUrl(env, 'HTTPS_PROXY');
  if (!httpProxy && !httpsProxy) return null;
  // All three are always given: undici would look up what is missing in the process.
  const noProxy = env.no_proxy ?? env.NO_PROXY ?? '';
  return new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy });
}

/** A scheme may be missing, as with curl. The value is never shown: it may hold a password. */
function proxyUrl(env: ProxyEnv, name: string): string {
  const value = (env[name.toLowerCase()] ?? env[name] ?? '').trim();
  if (value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  if (URL.canParse(url) && /^(?:https?|socks5?):$/.test(new URL(url).protocol)) return url;
  throw new ConfigError(`${name} is not the URL of a proxy`, {
    hint: 'write it like http://proxy.example:8080',
  });
}
