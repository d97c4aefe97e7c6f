import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkNode } from '../../../src/cli/commands/doctor.js';
import { checkClock } from '../../../src/cli/commands/doctor-checks.js';
import { systemClock } from '../../../src/engine/util/clock.js';
import { type CliOptions, cli, scratch } from '../../support/cli.js';

const TOKEN = 'key-0123456789-abcd';
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

interface Asked {
  method: string | undefined;
  url: string | undefined;
  authorization: string | undefined;
}

/** A service that answers every request alike; gives its address and what it was asked. */
async function service(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    asked.push({ method: request.method, url: request.url, authorization: request.headers.authorization });
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

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
    const { url, asked } = await service(wellAnswer);
    const { code, stderr, report, statuses, of } = await doctor({
      PROFILES_BASE_URL: url,
      PROFILES_LOOKUP_BASE_URL: `${url}/lookups`,
    });
    expect({ code, stderr, status: report.status }).toEqual({ code: 0, stderr: '', status: 'ok' });
    expect(statuses).toMatchObject({
      config: 'ok',
      proxy: 'ok',
      region: 'ok',
      base_url: 'ok',
      lookup_base_url: 'ok',
      token: 'ok',
      state: 'ok',
      service: 'ok',
      lookups: 'ok',
      authorization: 'ok',
      clock: 'ok',
    });
    expect(asked).toEqual([
      { method: 'GET', url: '/v1/background_jobs/profiles-doctor', authorization: `Token ${TOKEN}` },
      {
        method: 'GET',
        url: '/lookups/api/v1/analytics/exports/lookups/checklists',
        authorization: `Token ${TOKEN}`,
      },
    ]);
    expect(of('token')?.message).toBe('…abcd (environment PROFILES_TOKEN)');
  });
  it('prints a line for each check, at a terminal and in a pipe the same except for color', async () => {
    const { url } = await service(wellAnswer);
    const env = { PROFILES_BASE_URL: url, PROFILES_LOOKUP_BASE_URL: url, PROFILES_TOKEN: TOKEN };
    const cwd = scratch();
    const piped = await cli(['doctor'], { env, cwd });
    const shown = await cli(['doctor'], { env, cwd, columns: 80 });
    const lines = piped.stdout.trimEnd().split('\n');
    for (const line of lines) expect(line).toMatch(/^ok {4}[a-z_]+ +\S/);
    expect(shown.stdout).toContain('\u001b[32mok  \u001b[39m');
    const steady = (text: string): string => text.replace(/\u001b\[\d+m/g, '').replace(/[\d.]+ GiB/, 'n GiB');
    expect(steady(shown.stdout)).toBe(steady(piped.stdout));
    expect([piped.code, shown.code, piped.stderr, shown.stderr]).toEqual([0, 0, '', '']);
    expect(piped.stdout + shown.stdout).not.toContain(TOKEN);
  });
  it('at a narrow terminal, the hint is below, ready to paste', async () => {
    const { stdout } = await cli(['doctor', '--no-color'], { columns: 80 });
    expect(stdout).toContain(`fail  base_url         region "default" has no host, and none is built in
      run these with the hosts of your account:
        profiles config set regions.default.base_url https://…
        profiles config set regions.default.lookup_base_url https://…
      or rehearse with --region sandbox
`);
  });
  it('opens a private state folder', async () => {
    const { url } = await service(wellAnswer);
    const cwd = scratch();
    await doctor({ PROFILES_BASE_URL: url }, { cwd });
    expect(statSync(join(cwd, '.state')).mode & 0o077).toBe(0);
  });
});

describe('each problem has its hint and exit code', () => {
  it('the region has no host, but another one does: exit 2, with its flag', async () => {
    const cwd = scratch();
    const env = { PROFILES_CONFIG: 'c.json' };
    for (const name of ['eu', 'us'])
      await cli(['config', 'set', `regions.${name}.base_url`, 'https://api.example.com'], { cwd, env });
    writeFileSync(join(cwd, 'a.csv'), 'company_id\n1\n');
    const { code, stderr } = await cli(['import', 'a.csv'], { cwd, env });
    expect(code).toBe(2);
    expect(stderr).toContain(`profiles: region "default" has no host, and none is built in
  use a region that has one: --region eu or --region us
  or run these with the hosts of your account:
    profiles config set regions.default.base_url https://…`);
  });
  it('nothing is set: exit 2, and no host is asked', async () => {
    const { code, report, of } = await doctor({ PROFILES_TOKEN: '' });
    expect({ code, status: report.status }).toEqual({ code: 2, status: 'fail' });
    expect(of('base_url')).toMatchObject({
      status: 'fail',
      message: 'region "default" has no host, and none is built in',
    });
    expect(of('base_url')?.hint).toContain('\n  profiles config set regions.default.base_url https://…\n');
    expect(of('lookup_base_url')).toMatchObject({
      status: 'warn',
      hint: 'run:\n  profiles config set regions.default.lookup_base_url https://…',
    });
    expect(of('token')).toMatchObject({ status: 'fail', message: 'no token is set' });
    expect(of('service')).toBeUndefined();
  });
  it('no token: exit 4', async () => {
    const { code, of } = await doctor({ PROFILES_TOKEN: '', PROFILES_BASE_URL: 'https://api.example.com' });
    expect([code, of('token')?.status, of('service')]).toEqual([4, 'fail', undefined]);
  });
  it.each([401, 403])('the token is refused with %i: exit 4', async (status) => {
    const { url } = await service((_, response) =>
      json(response, status, { errors: [{ message: `not ${TOKEN}` }] }),
    );
    const { code, of, report } = await doctor({ PROFILES_BASE_URL: url });
    expect(code).toBe(4);
    expect(of('service')).toMatchObject({ status: 'ok', message: 'answers, but refuses the token' });
    expect(of('authorization')).toMatchObject({ status: 'fail' });
    expect(of('authorization')?.hint).toContain('check');
    expect(JSON.stringify(report)).not.toContain(TOKEN);
  });
  it('the lookup host alone refuses the token: exit 4', async () => {
    const base = await service(wellAnswer);
    const lookups = await service((_, response) => json(response, 401, {}));
    const { code, of } = await doctor({ PROFILES_BASE_URL: base.url, PROFILES_LOOKUP_BASE_URL: lookups.url });
    expect([code, of('service')?.status, of('authorization')?.status]).toEqual([4, 'ok', 'fail']);
  });
  it('no server listens: exit 6, after one attempt', async () => {
    const pauses: number[] = [];
    const clock = { ...systemClock, sleep: async (ms: number) => void pauses.push(ms) };
    const { code, of } = await doctor({ PROFILES_BASE_URL: 'http://127.0.0.1:1' }, { clock });
    expect([code, of('service')?.status, of('authorization')]).toEqual([6, 'fail', undefined]);
    expect(of('service')?.message).toContain('127.0.0.1:1 refused the connection');
    expect(pauses).toEqual([]);
  });
  it('the service fails: exit 6', async () => {
    const { url, asked } = await service((_, response) =>
      json(response, 503, { errors: [{ message: 'down' }] }),
    );
    const { code, of } = await doctor({ PROFILES_BASE_URL: url });
    expect([code, of('service')?.status, asked.length]).toEqual([6, 'fail', 1]);
    expect(of('service')?.message).toContain('503');
  });
  it.each([
    [200, 'text/html', '<h1>Welcome</h1>'],
    [404, 'text/html', '<html><title>404 Not Found</title>nginx'],
    [404, 'text/plain', '404 page not found'],
  ])('a web site answers instead of the service, with %i as %s: exit 6', async (status, type, page) => {
    const { url } = await service(
      (_, response) => void response.writeHead(status, { 'content-type': type }).end(page),
    );
    const { code, of } = await doctor({ PROFILES_BASE_URL: url });
    expect([code, of('service')?.status, of('authorization')]).toEqual([6, 'fail', undefined]);
    expect(of('service')?.hint).toContain('base URL');
  });
  it('the config file comes before all else: exit 2', async () => {
    const cwd = scratch();
    const path = join(cwd, '.config', 'profiles', 'config.json');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ token: TOKEN }), { mode: 0o644 });
    const { code, of, report } = await doctor({}, { cwd });
    expect(code).toBe(2);
    expect(of('config')).toMatchObject({ status: 'fail', hint: `chmod 600 ${path}` });
    expect(report.checks.map(({ check }) => check)).not.toContain('token');
  });
  it('a region that is not known: exit 2', async () => {
    const { code, of } = await doctor({ PROFILES_REGION: 'sandbx' });
    expect([code, of('settings')?.hint]).toEqual([2, 'did you mean "sandbox"?']);
  });
  it('an unusable state folder: exit 2', async () => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'file'), '');
    const { url } = await service(wellAnswer);
    const { code, of } = await doctor({
      PROFILES_BASE_URL: url,
      PROFILES_STATE_DIR: join(cwd, 'file', 'state'),
    });
    expect([code, of('state')?.status, of('service')?.status]).toEqual([2, 'fail', 'ok']);
  });
  it.each([
    ['all but its own data', 'sandbox.db/x', '.', 'ok'],
    ['nothing in its folder', 'file', 'file/state', 'fail'],
  ])('the sandbox opens %s: exit 2, and every check is printed', async (_name, path, folder, state) => {
    const cwd = scratch();
    mkdirSync(dirname(join(cwd, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(cwd, path), '');
    const { code, of } = await doctor({
      PROFILES_REGION: 'sandbox',
      PROFILES_STATE_DIR: join(cwd, folder),
    });
    expect([code, of('state')?.status]).toEqual([2, state]);
    expect(of('service')).toMatchObject({
      status: 'fail',
      message: expect.stringMatching(
        /^cannot open the sandbox's data in .*: (?:part of this path is a file|unable to open database file)/,
      ),
      hint: expect.stringContaining('--state'),
    });
  });
  it('this machine is an hour ahead: a warning, exit 0', async () => {
    const { url } = await service(wellAnswer);
    const clock = { ...systemClock, now: () => Date.now() + 3_600_000 };
    const { code, of, report } = await doctor(
      { PROFILES_BASE_URL: url, PROFILES_LOOKUP_BASE_URL: url },
      { clock },
    );
    expect([code, report.status]).toEqual([0, 'warn']);
    expect(of('clock')).toMatchObject({ status: 'warn', hint: "set this machine's clock (NTP)" });
    expect(of('clock')?.message).toMatch(/^1h 00m ahead of the service$/);
  });
  it('a proxy of another kind: exit 2, and no host is asked', async () => {
    const { url, asked } = await service(wellAnswer);
    const { code, of } = await doctor({ PROFILES_BASE_URL: url, HTTPS_PROXY: 'ftp://proxy.example' });
    expect([code, of('proxy')?.status, of('service'), asked]).toEqual([2, 'fail', undefined, []]);
    expect(of('proxy')?.hint).toBe(
      'write it like http://proxy.example:8080, with %25 for a % in its password, or unset it',
    );
  });
  it('a refused token and a missing host at once: the setting comes first', async () => {
    const { code } = await doctor({ PROFILES_TOKEN: '', PROFILES_BASE_URL: '' });
    expect(code).toBe(2);
  });
  it('text of the service reaches a terminal without its escape sequences', async () => {
    const { url } = await service((_, response) =>
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
])('Node %s: %s', (version, status) => {
  expect(checkNode(version).status).toBe(status);
});

it.each([
  [0, 'ok', 'agrees with the service'],
  [60_000, 'ok', 'agrees with the service'],
  [61_000, 'warn', '1m 01s ahead of the service'],
  [-7_200_000, 'warn', '2h 00m behind the service'],
])('a clock off by %i ms: %s', (skew, status, message) => {
  expect(checkClock(skew)).toMatchObject({ status, message });
});

it.each<[Record<string, string>, string, string]>([
  [{}, 'ok', 'none'],
  [
    { HTTPS_PROXY: 'http://me:secret@proxy.example:8080' },
    'ok',
    'HTTPS_PROXY proxy.example:8080; never for loopback',
  ],
  [
    { https_proxy: 'proxy.example:8080', NO_PROXY: 'a.example' },
    'ok',
    'HTTPS_PROXY proxy.example:8080; not for a.example; never for loopback',
  ],
  [{ HTTP_PROXY: 'http://' }, 'fail', 'HTTP_PROXY is not the URL of a proxy'],
  [{ HTTPS_PROXY: 'ftp://proxy.example' }, 'fail', 'HTTPS_PROXY is not the URL of a proxy'],
])('proxy settings %j: %s', async (env, status, message) => {
  const { stdout } = await cli(['doctor', '--region', 'sandbox', '--json'], { env });
  const { checks } = JSON.parse(stdout) as Report;
  expect(checks.find(({ check }) => check === 'proxy')).toMatchObject({ status, message });
});

it('the sandbox is in order without any setting', async () => {
  const { code, stdout, stderr } = await cli(['doctor', '--region', 'sandbox', '--json']);
  const { status, checks } = JSON.parse(stdout) as Report;
  expect({ code, stderr, status }).toEqual({ code: 0, stderr: '', status: 'ok' });
  expect(checks.map(({ check }) => check)).toEqual(
    expect.arrayContaining(['hosts', 'state', 'service', 'lookups', 'authorization', 'clock']),
  );
});
