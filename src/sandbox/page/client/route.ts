/** Addresses of the views. Identifiers are in the query, where `.`, `..`, and `/` have no meaning. */
import type { Kind, Region } from '../wire.js';

export type Route =
  | { view: 'profiles'; kind: Kind; region: Region; search: string; sort: string; page: number }
  | { view: 'profile'; kind: Kind; region: Region; id: string }
  | { view: 'jobs'; page: number }
  | { view: 'job'; id: string }
  | { view: 'requests'; only: string; page: number }
  | { view: 'request'; n: number }
  | { view: 'properties' }
  | { view: 'settings' }
  | { view: 'nowhere' };

const DEFAULT_SORT = '-updated';

export function profiles(kind: Kind, region: Region = 'default'): Route {
  return { view: 'profiles', kind, region, search: '', sort: DEFAULT_SORT, page: 1 };
}

/** @param target path after the base of the page, and query */
export function parseRoute(target: string): Route {
  const [path = '', query = ''] = target.split('?', 2);
  const words = new URLSearchParams(query);
  const page = Math.max(1, Math.trunc(Number(words.get('page') ?? 1)) || 1);
  const region: Region = words.get('region') === 'eu' ? 'eu' : 'default';
  switch (path) {
    case '':
    case 'companies':
    case 'users':
      return {
        ...profiles(path === 'users' ? 'users' : 'companies', region),
        search: words.get('search') ?? '',
        sort: words.get('sort') ?? DEFAULT_SORT,
        page,
      } as Route;
    case 'profile':
      return {
        view: 'profile',
        kind: words.get('kind') === 'users' ? 'users' : 'companies',
        region,
        id: words.get('id') ?? '',
      };
    case 'jobs':
      return { view: 'jobs', page };
    case 'job':
      return { view: 'job', id: words.get('id') ?? '' };
    case 'requests':
      return { view: 'requests', only: words.get('only') ?? 'all', page };
    case 'request':
      return { view: 'request', n: Number(words.get('n')) };
    case 'properties':
    case 'settings':
      return { view: path };
    default:
      return { view: 'nowhere' };
  }
}

export function formatRoute(route: Route): string {
  switch (route.view) {
    case 'profiles': {
      const { kind, region, search, sort, page } = route;
      return withQuery(kind, {
        region: region === 'eu' && region,
        search,
        sort: sort !== DEFAULT_SORT && sort,
        page: page > 1 && page,
      });
    }
    case 'profile':
      return withQuery('profile', { kind: route.kind, region: route.region === 'eu' && 'eu', id: route.id });
    case 'jobs':
      return withQuery('jobs', { page: route.page > 1 && route.page });
    case 'job':
      return withQuery('job', { id: route.id });
    case 'requests':
      return withQuery('requests', {
        only: route.only !== 'all' && route.only,
        page: route.page > 1 && route.page,
      });
    case 'request':
      return withQuery('request', { n: route.n });
    case 'nowhere':
      return '';
    default:
      return route.view;
  }
}

/** A path with query parameters; those that are false or empty are left out. */
export function withQuery(path: string, words: Record<string, string | number | false>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(words)) {
    if (value !== false && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}
