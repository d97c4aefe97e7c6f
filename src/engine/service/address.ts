/** Parses the addresses of services, inputs, and proxies, and encodes job ids for paths. */
import { ConfigError, UsageError } from '../errors.js';
import type { Problem } from '../problems.js';

export interface BaseUrl {
  /** `https://host:port` */
  origin: string;
  /** `host:port`, for messages. */
  host: string;
  /** Path in front of the paths of the specification, without a slash at the end. Often empty. */
  prefix: string;
  /** Whether the host is this machine. Such requests never use a proxy. */
  loopback: boolean;
}

/** @param url as `parseHost` returns it */
export function baseUrlOf(url: string): BaseUrl {
  const { origin, host, pathname, hostname } = new URL(url);
  return { origin, host, prefix: pathname.replace(/\/+$/, ''), loopback: isLoopback(hostname) };
}

/**
 * Parses the host of a service. A path and slashes at the end are accepted, and a host without a scheme means https.
 * `http://` is accepted only for loopback and the hosts in `allowHttp`, because the token would be sent without
 * encryption.
 * @param origin where the URL comes from, for errors: a flag, a variable, a key of the config file, or an
 * option
 * @param allowHttp hosts with or without port, separated by commas
 * @returns origin and path prefix, without a slash at the end
 * @throws ConfigError
 */
export function parseHost(text: string, origin: string, allowHttp = ''): string {
  const refuse = (what: string, hint = 'write it like https://api.example.com', problem?: Problem): never => {
    throw new ConfigError(`${origin}: ${what}`, { hint, problem });
  };
  // A text with "@" may contain credentials, so it is not quoted.
  const url = toUrl(text.trim()) ?? refuse(`${text.includes('@') ? 'this' : `"${text}"`} is not a URL`);
  const { protocol, hostname } = url;
  if (!/^https?:$/.test(protocol)) refuse(`a host must begin with https://, not ${protocol}//`);
  if (url.username || url.password)
    refuse('a URL must not contain a user name or password', 'set the token separately');
  if (url.search || url.hash) refuse('a host must not have a query or fragment');
  const { host, prefix, loopback } = baseUrlOf(url.href);
  const allowed = allowHttp.toLowerCase().split(/[\s,]+/);
  const problem = { code: 'http_host', host: hostname } as const;
  if (protocol === 'http:' && !loopback && !allowed.includes(hostname) && !allowed.includes(host))
    refuse(`http:// would send the token to ${host} in the clear`, 'use https://', problem);
  return url.origin + prefix;
}

function toUrl(text: string): URL | null {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return URL.canParse(text) ? new URL(text) : null;
  // Only a host, such as `api.example.com/v2` or `[::1]:4100`, means https. `https:/x` and `C:\x` are not
  // hosts.
  const bare = `https://${text}`;
  return /^[\w[]/.test(text) && !/^https?[:/]|\\/i.test(text) && URL.canParse(bare) ? new URL(bare) : null;
}

/** Whether a host is this machine. @param hostname as in `URL`: lower case, IPv6 in brackets */
export const isLoopback = (hostname: string): boolean =>
  /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(hostname);

/**
 * Encodes a job id as exactly one segment of a path. It may contain `/`, `:` and `?` (spec: `job_id` has the
 * format uri). `.` and `..` cannot be encoded: every URL parser reads `%2e%2e` as `..`.
 * @throws UsageError for an empty id, `.`, `..`, and text that is not valid Unicode
 */
export function jobSegment(jobId: string): string {
  if (!isJobId(jobId))
    throw new UsageError(`"${jobId}" is not a job id`, { problem: { code: 'bad_job_id' } });
  return encodeURIComponent(jobId);
}

/** Whether a job can be asked for by this id. */
export const isJobId = (text: string): boolean => !/^\.{0,2}$|\p{Surrogate}/u.test(text);

/** A web address as an input. */
export interface WebAddress {
  /** Without the fragment. */
  url: URL;
  /** The address to print and store, without the query, which may contain a signature. */
  shown: string;
  /** The text after `#`: the member of a zip archive, or null. */
  member: string | null;
}

/** Whether an input, as given or as stored, is a web address. */
export const isWebAddress = (path: string): boolean => /^https?:\/\//i.test(path);

/**
 * Parses an input. Null if it is not a web address.
 * @throws UsageError for an address that is not supported: another scheme, `http:` except loopback, or
 * credentials
 */
export function parseWebAddress(text: string): WebAddress | null {
  const scheme = /^([a-z][a-z\d+.-]+):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return null;
  const refuse = (what: string, hint: string): never => {
    throw new UsageError(what, { hint });
  };
  if (scheme !== 'https' && scheme !== 'http') {
    const otherwise = 'download the file first, or pipe it in and name the input -';
    const hint = scheme === 'file' ? 'name the file by its path' : otherwise;
    refuse(`inputs of ${scheme}:// cannot be read: only files, stdin, and https://`, hint);
  }
  if (!URL.canParse(text))
    refuse(`the ${scheme}:// input is not a URL`, 'check it for spaces and a missing host');
  const url = new URL(text);
  // The URL is not quoted, because that would print the credentials.
  if (url.username || url.password)
    refuse(
      `the address of an input on ${url.host} must not contain a user name or password`,
      'it would be visible in the list of processes and in the shell history: download the file with another program, and pipe it in',
    );
  const hash = url.hash.slice(1);
  url.hash = '';
  const shown = url.origin + url.pathname;
  if (scheme === 'http' && !isLoopback(url.hostname))
    refuse(`${shown}: http:// is not encrypted`, 'use https://');
  return { url, shown, member: hash === '' ? null : (decoded(hash) ?? hash) };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Proxy settings by their usual names, in upper or lower case: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`. */
export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/** All three are always set: undici would read a missing one from the environment of the process. */
export type ProxySettings = Readonly<Record<'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY', string>>;

/**
 * Reads the proxy settings; a proxy that is not set is empty.
 * @throws ConfigError for a value that is not a URL, or has an unsupported scheme
 */
export const proxySettings = (env: ProxyEnv): ProxySettings => ({
  HTTP_PROXY: proxyUrl(env, 'HTTP_PROXY'),
  HTTPS_PROXY: proxyUrl(env, 'HTTPS_PROXY'),
  NO_PROXY: env.no_proxy ?? env.NO_PROXY ?? '',
});

/** The setting of the proxy for requests to a host. */
export const settingFor = ({ protocol }: Pick<URL, 'protocol'>, { HTTPS_PROXY }: ProxySettings) =>
  protocol === 'https:' && HTTPS_PROXY ? 'HTTPS_PROXY' : 'HTTP_PROXY';

/**
 * Reads one setting. As with curl, the scheme may be missing. Errors never show the value, which may have a
 * password.
 */
function proxyUrl(env: ProxyEnv, name: string): string {
  const value = (env[name.toLowerCase()] ?? env[name] ?? '').trim();
  if (value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  // `URL` checks the host of an `http:` URL only.
  const host = url.replace(/^socks5h?:/i, 'http:');
  if (/^https?:/i.test(host) && URL.canParse(host)) {
    const { username, password } = new URL(host);
    if (decoded(username + password) !== null) return url;
  }
  throw new ConfigError(`${name} is not the URL of a proxy`, {
    hint: 'write it like http://proxy.example:8080, with %25 for a % in its password, or unset it',
  });
}
