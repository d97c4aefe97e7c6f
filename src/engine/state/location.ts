/** Parses where a state is: a folder on this machine, or a PostgreSQL database. */
import { posix, win32 } from 'node:path';
import { ConfigError } from '../errors.js';

export type StateLocation =
  | { kind: 'sqlite'; folder: string }
  /** Parsed when it is opened (`postgres/location.ts`). May contain a password. */
  | { kind: 'postgres'; url: string };

const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:/i.test(text);

/** Whether a URL contains a password, even if it cannot be parsed. */
export const hasPassword = (url: string): boolean =>
  isPostgresUrl(url) && (/^[a-z]+:\/\/[^/@]*:[^@]*@/i.test(url) || /[?&]password=/i.test(url));

/** A URL that can be printed: everything that may be part of a password is removed. */
export const withoutPassword = (url: string): string =>
  url.replace(/^([a-z]+:\/\/[^/@:]*):.*@/is, '$1:…@').replace(/([?&]password=)[^&]*/gi, '$1…');

/**
 * @param origin named in errors, which never quote a URL
 * @param cwd folder of relative paths
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
