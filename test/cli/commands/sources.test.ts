/** Inputs that are no single file: what an import makes of them, from argv to what arrives. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer as createTls } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import type { Summary } from '../../../src/engine/model.js';
import { profiles } from '../../support/child.js';
import { cli, scratch } from '../../support/cli.js';
import { FaultServer } from '../../support/fault-server.js';
import { environmentOf, test } from '../../support/sandbox.js';
import { httpServer, listen } from '../../support/servers.js';

const JSON_OUT = ['--json', '--quiet', '-o', 'interval=5ms'];
const spooled = (cwd: string): string[] => readdirSync(join(cwd, '.state/spool'));
const COMPANIES = 'company_id,name\nc1,One\nc2,Two\n';

const CERTS = fileURLToPath(new URL('../../engine/service/certs/', import.meta.url));

describe('an address', () => {
  test('the built command reads it over TLS, by a redirect, and prints nothing secret', async () => {
    const asked: (string | undefined)[] = [];
    const options = {
      key: readFileSync(join(CERTS, 'good.key')),
      cert: readFileSync(join(CERTS, 'good.pem')),
    };
    const server = createTls(options, (request, response) => {
      asked.push(request.headers.authorization);
      if (request.url!.startsWith('/get'))
        response.writeHead(302, { location: '/files/c.csv?sig=s3cret' }).end();
      else response.end(COMPANIES);
    });
    const { url } = await listen(server, 'https');
    const cwd = scratch();
    const env = { NODE_EXTRA_CA_CERTS: join(CERTS, 'authority.pem') };
    const words = ['import', `${url}/get/c.csv?sig=s3cret`, '--region', 'sandbox', '--json', '--debug'];
    const { code, stdout, stderr } = await profiles(words, { cwd, env }).ended;
    expect([code, JSON.parse(stdout).files[0].path]).toEqual([0, `${url}/get/c.csv`]);
    expect(JSON.parse(stdout).rows).toMatchObject({ read: 2, completed: 2 });
    expect(stdout + stderr).not.toContain('s3cret');
    expect(asked).toEqual([undefined, undefined]);
    for (const file of readdirSync(join(cwd, '.state')).filter(
      (name) => name.includes('.db') || name.includes('.sqlite'),
    )) {
      expect(readFileSync(join(cwd, '.state', file), 'latin1')).not.toContain('s3cret');
    }
    const untrusted = await profiles(words, { cwd }).ended;
    expect([untrusted.code, untrusted.stderr]).toEqual([6, expect.stringContaining('NODE_EXTRA_CA_CERTS')]);
  });

  test('a run that stopped continues with the copy, and a new import of it replaces the run', async () => {
    const service = await new FaultServer().start();
    let served = 0;
    const web = await httpServer((_, response) => {
      served++;
      response.end(COMPANIES);
    });
    const cwd = scratch();
    const env = { PROFILES_BASE_URL: service.url, PROFILES_TOKEN: 'test-token-1234' };
    const words = [
      'import',
      `${web.url}/c.csv`,
      '-o',
      'retries=0',
      '--json',
      '--quiet',
      '-o',
      'interval=5ms',
    ];
    try {
      service.trouble = { submit: () => ({ status: 503 }) as never };
      const first = JSON.parse((await cli(words, { cwd, env })).stdout) as Summary;
      expect(first.rows).toMatchObject({ submitted: 0, unknown: 2 });
      expect(spooled(cwd)).toHaveLength(1);
      const second = JSON.parse((await cli(words, { cwd, env })).stdout) as Summary;
      expect(second.warnings[0]).toMatch(/^this import replaces run .*, which was unfinished$/);
      expect(spooled(cwd)).toHaveLength(1);
      service.trouble = {};
      const resumed = await cli(['resume', '--json', '--quiet'], { cwd, env });
      expect([resumed.code, (JSON.parse(resumed.stdout) as Summary).run]).toEqual([0, second.run]);
      expect(served).toBe(2);
      expect(spooled(cwd)).toEqual([]);
      const planned = await cli(['runs', second.run!, '--save-plan', 'plan.json'], { cwd, env });
      expect([planned.code, served], planned.stderr).toEqual([0, 3]);
      expect(spooled(cwd), 'its copy of the address').toEqual([]);
    } finally {
      await service.stop();
    }
  });

  test('an HTML page, an invalid archive, and a missing file: nothing is sent', async ({ sandbox }) => {
    const { url, seen } = await httpServer((request, response) => {
      if (request.url === '/login')
        response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Sign in</title>');
      else if (request.url === '/a.zip') response.end('PK\x03\x04 not a zip');
      else if (request.url === '/c.csv') response.end(COMPANIES);
      else response.writeHead(404).end();
    });
    const cwd = scratch();
    const env = environmentOf(sandbox);
    const said = async (input: string): Promise<string> => {
      const { code, stderr } = await cli(['import', input], { cwd, env });
      expect(code).toBe(2);
      return stderr.split('\n').find((line) => line.startsWith('profiles: '))!;
    };
    expect(await said(`${url}/login`)).toBe(
      `profiles: ${url}/login: is an HTML page, not data in a format that can be imported`,
    );
    expect(await said(`${url}/a.zip`)).toMatch(/a\.zip: the zip data is damaged or cut off/);
    expect(await said(`${url}/gone.csv?k=s3cret`)).toBe(
      `profiles: ${url}/gone.csv: ${new URL(url).host} answered 404`,
    );
    expect(await said(`${url}/c.csv#d.csv`)).toBe(
      `profiles: ${url}/c.csv: is not a zip archive, so there is no "d.csv" in it`,
    );
    expect(await said('https://user:s3cret@h/c.csv')).not.toContain('s3cret');
    expect(seen).toHaveLength(4);
    expect(sandbox.show('companies', 'c1')).toBeUndefined();
    expect(spooled(cwd)).toEqual([]);
  });

  test('a command to paste holds no signature', async ({ sandbox }) => {
    const { url } = await httpServer((_, response) =>
      response.end('Email,Company ID,company_id \na@b.c,1,2\n'),
    );
    for (const command of ['import', 'inspect']) {
      const words = [command, `${url}/c.csv?sig=s3cret`, `${url}/d.csv?sig=s3cret`];
      const { stdout, stderr } = await cli(words, { cwd: scratch(), env: environmentOf(sandbox) });
      expect(stdout + stderr).toContain('/c.csv');
      expect(stdout + stderr).not.toContain('s3cret');
    }
    const unknown = await httpServer((_, response) => response.end('Email,Name\na@b.c,x\n'));
    const { stderr } = await cli(['import', `${unknown.url}/c.csv?sig=s3cret`], {
      cwd: scratch(),
      env: environmentOf(sandbox),
    });
    expect(stderr).toContain(`profiles import ${unknown.url}/c.csv --kind users --id Email`);
    expect(stderr).not.toContain('s3cret');
  });

  test('no signature is in the state, whether its run is begun or continued', async () => {
    const service = await new FaultServer().start();
    const { url } = await httpServer((_, response) => response.end(COMPANIES));
    const cwd = scratch();
    const env = { PROFILES_BASE_URL: service.url, PROFILES_TOKEN: 'test-token-1234' };
    const words = ['import', `${url}/c.csv?sig=s3cret`, '-o', 'retries=0'];
    service.trouble = { submit: () => async (exchange) => void exchange.socket.resetAndDestroy() };
    expect((await cli(words, { cwd, env })).code).toBe(6);
    expect((await cli([...words, '--resume'], { cwd, env })).code).toBe(6);
    await service.stop();
    const bytes = readdirSync(join(cwd, '.state'))
      .filter((name) => name.includes('.db'))
      .map((name) => readFileSync(join(cwd, '.state', name), 'latin1'))
      .join('');
    expect(bytes.includes('/c.csv')).toBe(true);
    expect(bytes.includes('s3cret')).toBe(false);
  });

  test('Ctrl-C ends a download that hangs, and leaves nothing', async () => {
    const { url, seen } = await httpServer((_, response) => {
      response.writeHead(200, { 'content-length': 1e6 });
      response.write(COMPANIES);
    });
    const cwd = scratch();
    const child = profiles(['import', `${url}/c.csv`, '--region', 'sandbox'], { cwd });
    await expect.poll(() => seen.length).toBe(1);
    child.kill('SIGINT');
    expect((await child.ended).code).toBe(130);
    expect(spooled(cwd)).toEqual([]);
  });

  test('an unknown length is a warning', async ({ sandbox }) => {
    const { url } = await listen(
      (await import('node:net')).createServer((socket) => {
        socket.once('data', () => socket.end(`HTTP/1.0 200 OK\r\n\r\n${COMPANIES}`));
      }),
    );
    const { code, stdout } = await cli(['import', `${url}/c.csv`, ...JSON_OUT], {
      cwd: scratch(),
      env: environmentOf(sandbox),
    });
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as Summary).warnings).toEqual([
      `${url}/c.csv: the server did not say how long the file is, so a copy that was cut off would look whole`,
    ]);
  });
});
