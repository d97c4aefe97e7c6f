/** Addresses of the views. Identifiers are in the query, where `.`, `..`, and `/` have no meaning. */
import type { Kind, Region } from '../../types.js';

const DEFAULTS = {
  view: 'companies',
  kind: 'companies' as Kind,
  region: 'default' as Region,
  id: '',
  n: 1,
  search: '',
  sort: '-updated',
  only: 'all',
  page: 1,
};

/** A view and its parameters. A view ignores those of others. */
export type Route = typeof DEFAULTS;

export const to = (view: string, part: Partial<Route> = {}): Route => ({ ...DEFAULTS, ...part, view });

/** @param target path after the base of the page, and query */
export function parseRoute(target: string): Route {
  const [path = '', query = ''] = target.split('?', 2);
  const given = [...new URLSearchParams(query)]
    .filter(([name]) => Object.hasOwn(DEFAULTS, name))
    .map(([name, value]) => [name, name === 'page' || name === 'n' ? numberOf(value) : value]);
  return to(path || DEFAULTS.view, Object.fromEntries(given) as Partial<Route>);
}

const numberOf = (text: string): number => Math.max(1, Math.trunc(Number(text)) || 1);

export function formatRoute({ view, ...rest }: Route): string {
  const words = Object.entries(rest).filter(([name, value]) => value !== DEFAULTS[name as keyof Route]);
  return withQuery(view, Object.fromEntries(words));
}

/** A path with query parameters; empty ones are left out. */
export function withQuery(path: string, words: Record<string, string | number>): string {
  const given = Object.entries(words).filter(([, value]) => value !== '');
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}`;
}
