/** Checks a service host (contract §2). */
import { ConfigError } from '../errors.js';

/** True for a host name that never leaves this machine. */
export function isLoopback(hostname: string): boolean {
  return (
    /^(?:.+\.)?localhost$/.test(hostname) || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}

/**
 * A base URL as it is used: without trailing slashes, path prefix kept.
 * @param origin what the user would have to change: `--base-url`, `PROFILES_BASE_URL`, a key of the file
 * @param allowHttp `PROFILES_ALLOW_HTTP`: hosts (with or without port, separated by commas) that `http://` may name
 * @throws ConfigError
 */
export function parseHost(text: string, origin: string, allowHttp: string | undefined): string {
  const refuse = (why: string, hint: string): never => {
    throw new ConfigError(`${origin}: ${why}`, { hint });
  };
  const like = 'write it like https://api.example.com';
  const url = toUrl(text.trim());
  // The text of a URL with credentials is not repeated: it would print them.
  if (!url) return refuse(text.includes('@') ? 'this is not a URL' : `"${text}" is not a URL`, like);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return refuse(`a host must begin with https://, not ${url.protocol}//`, like);
  }
  if (url.username || url.password) {
    return refuse('a URL must not hold a user name or password', 'the token is set on its own');
  }
  if (url.search || url.hash) return refuse('a host must not have a query or fragment', like);
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !names(allowHttp, url)) {
    return refuse(
      `http:// would send the token to ${url.host} in the clear`,
      `use https://, or set PROFILES_ALLOW_HTTP=${url.hostname} if that host is yours and near`,
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function toUrl(text: string): URL | null {
  // `localhost:4100` would parse as a URL of the scheme "localhost".
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null;
}

function names(allowHttp: string | undefined, url: URL): boolean {
  const allowed = (allowHttp ?? '').toLowerCase().split(/[\s,]+/);
  return allowed.includes(url.hostname) || allowed.includes(url.host);
}
