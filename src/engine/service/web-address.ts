/** Parses web addresses as inputs. */
import { UsageError } from '../errors.js';
import { isLoopback } from './address.js';

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
  if (scheme !== 'https' && scheme !== 'http') {
    throw new UsageError(`inputs of ${scheme}:// cannot be read: only files, stdin, and https://`, {
      hint:
        scheme === 'file'
          ? 'name the file by its path'
          : 'download the file first, or pipe it in and name the input -',
    });
  }
  if (!URL.canParse(text))
    throw new UsageError(`the ${scheme}:// input is not a URL`, {
      hint: 'check it for spaces and a missing host',
    });
  const url = new URL(text);
  // The URL is not quoted, because that would print the credentials.
  if (url.username || url.password) {
    throw new UsageError(`the address of an input on ${url.host} must not contain a user name or password`, {
      hint: 'it would be visible in the list of processes and in the shell history: download the file with another program, and pipe it in',
    });
  }
  const member = url.hash === '' ? null : decoded(url.hash.slice(1));
  url.hash = '';
  const shown = url.origin + url.pathname;
  if (scheme === 'http' && !isLoopback(url.hostname)) {
    throw new UsageError(`${shown}: http:// is not encrypted`, { hint: 'use https://' });
  }
  return { url, shown, member };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
