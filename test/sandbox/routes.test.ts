import { describe, expect, it } from 'vitest';
import { find, type Role } from '../../src/sandbox/operations.js';

const base: Role = { type: 'base', region: 'eu' };
const lookup: Role = { type: 'lookup' };

describe('operations', () => {
  it.each<[Role, string, name: string, part: string]>([
    [base, 'POST /v1/companies/bulk_identify', 'submit', ''],
    [base, 'POST /v1/users/bulk_identify', 'submit', ''],
    [base, 'POST /v1/companies/identify', 'identify', ''],
    [base, 'GET /v1/background_jobs/a%3Ab%2Fc', 'job', 'a:b/c'],
    [base, 'GET /v1/background_jobs/a:b', 'job', 'a:b'],
    [base, 'GET /v1/background_jobs/%2e%2e', 'job', '..'],
    [lookup, 'GET /api/v1/analytics/exports/lookups/embeds', 'lookup', ''],
    [base, 'GET /openapi.json', 'openapi', ''],
    [lookup, 'GET /openapi.json', 'openapi', ''],
  ])('%j %s', (role, line, name, part) => {
    const [method = '', path = ''] = line.split(' ');
    const region = role.type === 'base' ? role.region : 'default';
    expect(find(role, method, path)).toMatchObject({ operation: { name, method }, part, region });
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
    const answer = find(role, method, path);
    expect(answer).toMatchObject({ status });
    expect('headers' in answer && answer.headers.allow).toBe(allow);
  });
});
