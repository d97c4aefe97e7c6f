import { describe, expect, it } from 'vitest';
import { type Role, routeOf } from '../../src/sandbox/routes.js';

const base: Role = { type: 'base', region: 'eu' };
const lookup: Role = { type: 'lookup' };

describe('operations', () => {
  it.each<[Role, string, object]>([
    [base, 'POST /v1/companies/bulk_identify', { operation: 'submit', kind: 'companies', region: 'eu' }],
    [base, 'POST /v1/users/bulk_identify', { operation: 'submit', kind: 'users', region: 'eu' }],
    [base, 'POST /v1/companies/identify', { operation: 'identify', region: 'eu' }],
    [base, 'GET /v1/background_jobs/a%3Ab%2Fc', { operation: 'job', jobId: 'a:b/c', region: 'eu' }],
    [base, 'GET /v1/background_jobs/a:b', { operation: 'job', jobId: 'a:b', region: 'eu' }],
    [base, 'GET /v1/background_jobs/%2e%2e', { operation: 'job', jobId: '..', region: 'eu' }],
    [lookup, 'GET /api/v1/analytics/exports/lookups/embeds', { operation: 'lookup', list: 'embeds' }],
    [base, 'GET /openapi.json', { operation: 'openapi' }],
    [lookup, 'GET /openapi.json', { operation: 'openapi' }],
  ])('%j %s', (role, line, route) => {
    const [method = '', path = ''] = line.split(' ');
    expect(routeOf(role, method, path)).toEqual(route);
  });
});

describe('refusals', () => {
  it.each<[Role, string, number, string | undefined]>([
    [base, 'GET /', 404, undefined],
    [base, 'POST /v1/users/identify', 404, undefined],
    [base, 'POST /v1/companies/bulk_identify/', 404, undefined],
    [base, 'POST //v1/companies/bulk_identify', 404, undefined],
    [base, 'POST /v1/Companies/bulk_identify', 404, undefined],
    [base, 'GET /v1/background_jobs/', 404, undefined],
    [base, 'GET /v1/background_jobs/urn:a/b', 404, undefined],
    [base, 'GET /v1/background_jobs/%', 400, undefined],
    [base, 'GET /v1/background_jobs/a?b=1', 400, undefined],
    [base, 'GET /api/v1/analytics/exports/lookups/embeds', 404, undefined],
    [lookup, 'POST /v1/users/bulk_identify', 404, undefined],
    [lookup, 'GET /api/v1/analytics/exports/lookups/user-properties', 404, undefined],
    [base, 'GET /v1/companies/bulk_identify', 405, 'POST'],
    [base, 'DELETE /v1/background_jobs/a', 405, 'GET'],
    [base, 'HEAD /v1/background_jobs/a', 405, 'GET'],
    [lookup, 'POST /api/v1/analytics/exports/lookups/embeds', 405, 'GET'],
  ])('%j %s: %i', (role, line, status, allow) => {
    const [method = '', path = ''] = line.split(' ');
    const answer = routeOf(role, method, path);
    expect(answer).toMatchObject({ status });
    expect('headers' in answer && answer.headers.allow).toBe(allow);
  });
});
