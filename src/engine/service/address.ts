/** Where requests go: base URLs, paths below them, and which of them stay on this machine. */
import { ConfigError, UsageError } from '../errors.js';

export interface BaseUrl {
  /** `https://host:port` */
  origin: string;
  /** `host:port` as messages name it. */
  host: string;
  /** Path in front of the spec's paths, without a slash at its end; often empty. */
  prefix: string;
  /** Its requests never leave this machine, so no proxy may see them. */
  loopback: boolean;
}

/**
 * Reads a base URL. A path in front and a slash at the end are accepted.
 * @param setting what to name in the message, such as `base_url`
 * @throws ConfigError when it is no http(s) URL, or carries what would be lost: a name, a query, a fragment
 */
export function parseBaseUrl(text: string, setting: string): BaseUrl {
  const url = URL.canParse(text) ? new URL(text) : null;
  const example = { hint: 'write it like https://api.example.com' };
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(`${setting}: "${text}" is not an http or https URL`, example);
  }
  // The text is not repeated: it may hold a password.
  if (url.username || url.password) {
    throw new ConfigError(`${setting}: a base URL must not hold a user name or a password`, example);
  }
  if (url.search || url.hash) {
    throw new ConfigError(`${setting}: "${text}" must end before any ? or #`, example);
  }
  return {
    origin: url.origin,
    host: url.host,
    prefix: url.pathname.replace(/\/+$/, ''),
    loopback: isLoopback(url.hostname),
  };
}

/** @param hostname as `URL` writes it: lower case, IPv6 in brackets */
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
 * A value as exactly one segment of a path: `/`, `:`, `?` and the rest are encoded (spec: `job_id` has
 * the format uri). Dots alone cannot be: every URL parser reads `%2e%2e` as `..` and climbs.
 * @throws UsageError for an empty id, `.`, `..` and text that is not Unicode
 */
export function jobSegment(jobId: string): string {
  if (jobId === '' || jobId === '.' || jobId === '..') {
    throw new UsageError(`"${jobId}" is not a job id`, { hint: 'profiles jobs lists the known ones' });
  }
  try {
    return encodeURIComponent(jobId);
  } catch (cause) {
    throw new UsageError('this job id is not valid Unicode text', { cause });
  }
}
