/** nginx in front of a service, for the length of a test, and imports through it, held against the service's ledger. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.js';
import { scratch } from '../support/cli.js';
import { hurriedClock } from '../support/sandbox.js';
import { closedPort } from '../support/servers.js';
import { Machine } from '../support/workspace.js';

/** Debian puts it where only an administrator's PATH leads. */
const FOLDERS = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
const BINARY = FOLDERS.map((folder) => join(folder, 'nginx')).find((path) => existsSync(path));

/** Declares tests that need nginx; where there is none, one skipped test that says so. */
export function withNginx(tests: () => void): void {
  if (BINARY === undefined) test.skip('nginx is not installed (apt-get install nginx-light)');
  else tests();
}

export interface Site {
  /** `proxy_pass` goes here. */
  upstream: string;
  /** Directives for the one location, such as `limit_req zone=z;`. */
  location?: string;
  /** Directives for the server around it. */
  server?: string;
  /** Directives for all servers. */
  http?: string;
  /** Certificate and key by path; without them it speaks plain HTTP. */
  tls?: { cert: string; key: string };
}

export interface Nginx {
  port: number;
  url: string;
  /** Serves another site from the same address. */
  change(site: Site): Promise<void>;
}

/** Starts one on a free port; it ends with the test. */
export async function startNginx(site: Site): Promise<Nginx> {
  const port = await closedPort();
  let stop = await run(port, site);
  onTestFinished(() => stop());
  return {
    port,
    url: `${site.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    change: async (other) => {
      await stop();
      stop = await run(port, other);
    },
  };
}

/** Runs nginx until the function that it resolves with is called. */
async function run(port: number, site: Site): Promise<() => Promise<void>> {
  const folder = scratch();
  mkdirSync(join(folder, 'tmp'));
  writeFileSync(join(folder, 'nginx.conf'), configOf(port, site));
  const nginx = spawn(BINARY!, ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(nginx, 'exit');
  const end = (): void => void nginx.kill('SIGTERM');
  process.once('exit', end);
  let said = '';
  await new Promise<void>((ready, reject) => {
    nginx.stderr.on('data', (chunk: Buffer) => {
      said += chunk;
      if (said.includes('start worker process ')) ready();
    });
    exit.then(() => reject(new Error(`nginx did not start: ${said}`)), reject);
  });
  return async () => {
    process.off('exit', end);
    end();
    await exit;
  };
}

function configOf(port: number, { upstream, location = '', server = '', http = '', tls }: Site): string {
  // Its workers would be another user's, and could not write below the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const certificate = tls ? `ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key};` : '';
  return `
    ${user}
    daemon off;
    worker_processes 1;
    pid nginx.pid;
    error_log stderr notice;
    events {}
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path tmp/${name};`).join('\n')}
      ${http}
      server {
        listen 127.0.0.1:${port}${tls ? ' ssl' : ''};
        ${certificate}
        ${server}
        location / {
          ${location}
          proxy_pass ${upstream};
        }
      }
    }`;
}

const TOKEN = 'tok_0123456789';

/** A sandbox that ends with the test. */
export async function startService(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({
    clock: hurriedClock(),
    expectToken: TOKEN,
    ports: { eu: null },
    ...options,
  });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

/** A machine with `n` companies in `companies.csv`; each id stands once, the first in line 2. */
export class Sender extends Machine {
  readonly ids: string[];

  constructor(url: string, n = 12, note: (i: number) => string = () => 'x'.repeat(60)) {
    super(url);
    this.env.PROFILES_TOKEN = TOKEN;
    this.ids = Array.from({ length: n }, (_, i) => `c-${i}`);
    this.write('companies.csv', `company_id,note\n${this.ids.map((id, i) => `${id},${note(i)}\n`).join('')}`);
  }
}

/** Three requests of four rows each. */
export const SEND = ['import', 'companies.csv', '--chunk-size', '4', '-o', 'retries=2'];

/** A pattern for nginx's page as a message has it: in one line, its words once. */
export const page = (words = ''): string => `\\(HTML page: "${words}nginx/[\\w.]+"\\)`;

/** How often the service carried out each of the ids. */
export function timesCarriedOut(service: Sandbox): Map<string, number> {
  const times = new Map<string, number>();
  for (const { accepted } of service.ledger())
    for (const id of accepted?.ids ?? []) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}

/**
 * The import is done and agrees with the service: all rows are there, those of `twice` were carried out twice and
 * all others once.
 */
export function expectDone(summary: Summary, sender: Sender, service: Sandbox, twice: string[] = []): void {
  const all = sender.ids.length;
  expect(summary).toMatchObject({ status: 'completed', resume: null });
  expect(summary.rows).toEqual({
    read: all,
    filtered: 0,
    rejected: 0,
    merged: 0,
    unchanged: 0,
    submitted: all,
    completed: all,
  });
  const expected = sender.ids.map((id): [string, number] => [id, twice.includes(id) ? 2 : 1]);
  expect(timesCarriedOut(service)).toEqual(new Map(expected));
}
