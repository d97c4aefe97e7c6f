/** Parses base URLs and hosts, and encodes job ids for paths. */
import { ConfigError, UsageError } from '../errors.js';

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

const LIKE = { hint: 'write it like https://api.example.com' };

/**
 * Parses a base URL. A path and slashes at the end are accepted. A host without a scheme means https.
 * @param origin where the URL comes from, for errors: a flag, a variable, a key of the config file, or an
 * option
 * @throws ConfigError if it is not an http(s) URL, or has a user name, a query, or a fragment
 */
export function parseBaseUrl(text: string, origin: string): BaseUrl {
  const url = toUrl(text.trim());
  // A text with "@" may contain credentials, so it is not quoted.
  if (!url) {
    const what = text.includes('@') ? 'this' : `"${text}"`;
    throw new ConfigError(`${origin}: ${what} is not a URL`, LIKE);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new ConfigError(`${origin}: a host must begin with https://, not ${url.protocol}//`, LIKE);
  }
  if (url.username || url.password) {
    throw new ConfigError(`${origin}: a URL must not contain a user name or password`, {
      hint: 'set the token separately',
    });
  }
  if (url.search || url.hash)
    throw new ConfigError(`${origin}: a host must not have a query or fragment`, LIKE);
  return {
    origin: url.origin,
    host: url.host,
    prefix: url.pathname.replace(/\/+$/, ''),
    loopback: isLoopback(url.hostname),
  };
}

/**
 * Parses the host of a service. Unlike `parseBaseUrl`, it accepts `http://` only for loopback and the hosts
 * in `allowHttp`, because the token would be sent without encryption.
 * @param origin as in `parseBaseUrl`
 * @param allowHttp hosts with or without port, separated by commas
 * @returns origin and path prefix, without a slash at the end
 * @throws ConfigError
 */
export function parseHost(text: string, origin: string, allowHttp: string | undefined): string {
  const base = parseBaseUrl(text, origin);
  const { hostname, protocol } = new URL(base.origin);
  const allowed = (allowHttp ?? '').toLowerCase().split(/[\s,]+/);
  if (protocol === 'http:' && !base.loopback && !allowed.includes(hostname) && !allowed.includes(base.host)) {
    throw new ConfigError(`${origin}: http:// would send the token to ${base.host} in the clear`, {
      hint: 'use https://',
      problem: { code: 'http_host', host: hostname },
    });
  }
  return base.origin + base.prefix;
}

function toUrl(text: string): URL | null {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return URL.canParse(text) ? new URL(text) : null;
  // Only a host, such as `api.example.com/v2` or `[::1]:4100`, means https. `https:/x` and `C:\x` are not
  // hosts.
  const bare = `https://${text}`;
  return /^[\w[]/.test(text) && !/^https?[:/]|\\/i.test(text) && URL.canParse(bare) ? new URL(bare) : null;
}

/** Whether a host is this machine. @param hostname as in `URL`: lower case, IPv6 in brackets */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname) ||
    hostname === '[::1]' ||
    /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\]$/.test(hostname)
  );
}

/**
 * Encodes a job id as exactly one segment of a path. It may contain `/`, `:` and `?` (spec: `job_id` has the
 * format uri). `.` and `..` cannot be encoded: every URL parser reads `%2e%2e` as `..`.
 * @throws UsageError for an empty id, `.`, `..`, and text that is not valid Unicode
 */
export function jobSegment(jobId: string): string {
  if (jobId === '' || jobId === '.' || jobId === '..') {
    throw new UsageError(`"${jobId}" is not a job id`, { problem: { code: 'bad_job_id' } });
  }
  try {
    return encodeURIComponent(jobId);
  } catch (cause) {
    throw new UsageError('this job id is not valid Unicode text', { cause });
  }
}

/** Whether a job can be asked for by this id. */
export function isJobId(text: string): boolean {
  try {
    jobSegment(text);
    return true;
  } catch {
    return false;
  }
}
