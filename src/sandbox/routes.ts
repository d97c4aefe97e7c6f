/**
 * Finds the operation for a method and a path. Paths are compared as they were sent: nothing is normalized.
 */
import { LOOKUP_LISTS, type LookupList } from '../engine/service/names.js';
import { type Answer, refuse } from './answer.js';
import type { Kind, Region } from './types.js';

/** What a listener serves: the operations of one region, or the lookup lists. */
export type Role = { type: 'base'; region: Region } | { type: 'lookup' };

export type Route =
  | { operation: 'submit'; kind: Kind; region: Region }
  | { operation: 'identify'; region: Region }
  | { operation: 'job'; jobId: string; region: Region }
  | { operation: 'lookup'; list: LookupList }
  | { operation: 'openapi' };

export type Operation = Route['operation'];

interface Pattern {
  role: Role['type'] | 'both';
  method: 'GET' | 'POST';
  path: RegExp;
  /** @param segment the group of the pattern, decoded */
  route(segment: string, region: Region): Route;
}

const PATTERNS: readonly Pattern[] = [
  {
    role: 'base',
    method: 'POST',
    path: /^\/v1\/(companies|users)\/bulk_identify$/,
    route: (kind, region) => ({ operation: 'submit', kind: kind as Kind, region }),
  },
  {
    role: 'base',
    method: 'POST',
    path: /^\/v1\/companies\/identify$/,
    route: (_, region) => ({ operation: 'identify', region }),
  },
  {
    role: 'base',
    method: 'GET',
    path: /^\/v1\/background_jobs\/([^/]+)$/,
    route: (jobId, region) => ({ operation: 'job', jobId, region }),
  },
  {
    role: 'lookup',
    method: 'GET',
    path: new RegExp(`^/api/v1/analytics/exports/lookups/(${LOOKUP_LISTS.join('|')})$`),
    route: (list) => ({ operation: 'lookup', list: list as LookupList }),
  },
  { role: 'both', method: 'GET', path: /^\/openapi\.json$/, route: () => ({ operation: 'openapi' }) },
];

/** The operation that a request asks for, or the refusal: 404, 405 with `Allow`, or 400 for a query. */
export function routeOf(role: Role, method: string, target: string): Route | Answer {
  const [path = '', query] = target.split('?', 2);
  const pattern = PATTERNS.find(
    (one) => (one.role === role.type || one.role === 'both') && one.path.test(path),
  );
  if (pattern === undefined) return refuse(404, { message: `no operation at ${path}` });
  if (pattern.method !== method) {
    return refuse(
      405,
      { message: `${path} takes ${pattern.method}, not ${method}` },
      { allow: pattern.method },
    );
  }
  if (query !== undefined)
    return refuse(400, { where: 'query', message: 'operations take no query parameters' });
  const segment = decode(pattern.path.exec(path)?.[1] ?? '');
  if (segment === undefined) return refuse(400, { where: 'path', message: 'invalid % escape' });
  return pattern.route(segment, role.type === 'base' ? role.region : 'default');
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
