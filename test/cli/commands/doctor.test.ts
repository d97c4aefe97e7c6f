import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/engine/util/clock.js';
import { type CliOptions, cli } from '../../support/cli.js';
import { httpServer } from '../../support/servers.js';

const TOKEN = 'key-0123456789-abcd';

const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};
/** As the service of the spec: it knows no such job, and its lists are empty. */
const wellAnswer = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.url?.startsWith('/v1/background_jobs/'))
    json(response, 404, { errors: [{ message: 'no such job' }] });
  else json(response, 200, []);
};

interface Report {
  status: string;
  checks: { check: string; status: string; message: string; hint: string | null }[];
}

async function doctor(env: Record<string, string>, options: CliOptions = {}) {
  const { code, stdout, stderr } = await cli(['doctor', '--json'], {
    ...options,
    env: { PROFILES_TOKEN: TOKEN, ...env },
  });
  const report = JSON.parse(stdout) as Report;
  const of = (check: string) => report.checks.find((finding) => finding.check === check);
  return {
    code,
    stderr,
    report,
    of,
    statuses: Object.fromEntries(report.checks.map(({ check, status }) => [check, status])),
  };
}

describe('a setup in order', () => {
  it('is ok in every check, asks each host once, and writes nothing to the service', async () => {
    const { url, seen } = await httpServer(wellAnswer);
    const { code, stderr, report, statuses, of } = await doctor({
      PROFILES_BASE_URL: url,
      PROFILES_LOOKUP_BASE_URL: `${url}/lookups`,
    });
    expect({ code, stderr, status: report.status }).toEqual({ code: 0, stderr: '', status: 'ok' });
    const checks =
      'node config proxy region base_url lookup_base_url token state service lookups authorization clock';
    expect(statuses).toEqual(Object.fromEntries(checks.split(' ').map((check) => [check, 'ok'])));
    expect(seen.map(({ method, path, headers }) => `${method} ${path} ${headers.authorization}`)).toEqual([
      `GET /v1/background_jobs/profiles-doctor Token ${TOKEN}`,
      `GET /lookups/api/v1/analytics/exports/lookups/checklists Token ${TOKEN}`,
    ]);
    expect(of('token')?.message).toBe('…abcd (environment PROFILES_TOKEN)');
  });
});

describe('each problem has its hint and exit code', () => {
  it('the lookup host alone refuses the token: exit 4', async () => {
    const base = await httpServer(wellAnswer);
    const lookups = await httpServer((_, response) => json(response, 401, {}));
    const { code, of } = await doctor({ PROFILES_BASE_URL: base.url, PROFILES_LOOKUP_BASE_URL: lookups.url });
    expect([code, of('service')?.status, of('authorization')?.status]).toEqual([4, 'ok', 'fail']);
  });
  it.each([
    [200, 'text/html', '<h1>Welcome</h1>'],
    [404, 'text/html', '<html><title>404 Not Found</title>nginx'],
    [404, 'text/plain', '404 page not found'],
  ])('a web site answers instead of the service, with %i as %s: exit 6', async (status, type, page) => {
    const { url } = await httpServer(
      (_, response) => void response.writeHead(status, { 'content-type': type }).end(page),
    );
    const { code, of } = await doctor({ PROFILES_BASE_URL: url });
    expect([code, of('service')?.status, of('authorization')]).toEqual([6, 'fail', undefined]);
    expect(of('service')?.hint).toContain('base URL');
  });
  it('this machine is an hour ahead: a warning, exit 0', async () => {
    const { url } = await httpServer(wellAnswer);
    const clock = { ...systemClock, now: () => Date.now() + 3_600_000 };
    const { code, of, report } = await doctor(
      { PROFILES_BASE_URL: url, PROFILES_LOOKUP_BASE_URL: url },
      { clock },
    );
    expect([code, report.status]).toEqual([0, 'warn']);
    expect(of('clock')).toMatchObject({ status: 'warn', hint: "set this machine's clock (NTP)" });
    expect(of('clock')?.message).toMatch(/^1h 00m ahead of the service$/);
  });
  it('text of the service reaches a terminal without its escape sequences', async () => {
    const { url } = await httpServer((_, response) =>
      json(response, 500, { errors: [{ message: 'a\u001b[2Jb' }] }),
    );
    const { stdout } = await cli(['doctor', '--no-color'], {
      env: { PROFILES_TOKEN: TOKEN, PROFILES_BASE_URL: url },
      columns: 80,
    });
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain('500');
  });
});

it.each([
  ['20.20.0', 'ok'],
  ['20.19.9', 'warn'],
  ['18.20.4', 'warn'],
  ['22.0.0', 'ok'],
])('Node %s: %s', async (nodeVersion, status) => {
  expect((await doctor({}, { nodeVersion })).statuses.node).toBe(status);
});
