/** Parses the location of a state: a folder on this machine, or a PostgreSQL database. */
import { posix, win32 } from 'node:path';
import { ConfigError } from '../errors.js';

export type StateLocation =
  | { kind: 'sqlite'; folder: string }
  /** The URL is parsed when the state is opened (`postgres/location.ts`). It may contain a password. */
  | { kind: 'postgres'; url: string };

const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:/i.test(text);

/** Whether a URL contains a password, even if it cannot be parsed. */
export const hasPassword = (url: string): boolean =>
  isPostgresUrl(url) && (/^[a-z]+:\/\/[^/@]*:[^@]*@/i.test(url) || /[?&]password=/i.test(url));

/** The URL in a form that can be printed, without anything that may be part of a password. */
export const withoutPassword = (url: string): string =>
  url.replace(/^([a-z]+:\/\/[^/@:]*):.*@/is, '$1:…@').replace(/([?&]password=)[^&]*/gi, '$1…');

/**
 * Parses a path, `sqlite:<directory>`, or a PostgreSQL URL.
 * @param origin where the text comes from; named in errors, which never quote a URL
 * @param cwd folder for relative paths
 * @throws ConfigError for any other URL
 */
export function stateLocationOf(
  text: string,
  origin: string,
  { cwd, platform }: { cwd: string; platform: NodeJS.Platform },
): StateLocation {
  if (isPostgresUrl(text)) return { kind: 'postgres', url: text };
  const [, scheme] = /^([a-z][a-z0-9+.-]+):/i.exec(text) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== 'sqlite') {
    throw new ConfigError(`${origin}: ${scheme} is not a kind of database that can hold the state`, {
      hint: 'write a path, sqlite:<directory>, or postgres://user@host/database?schema=profiles',
    });
  }
  const path = scheme === undefined ? text : text.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  if (path === '') throw new ConfigError(`${origin}: the directory is missing`);
  return { kind: 'sqlite', folder: (platform === 'win32' ? win32 : posix).resolve(cwd, path) };
}
