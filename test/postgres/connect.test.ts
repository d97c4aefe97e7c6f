/** Ways in: TLS by the names of libpq, passwords, sockets, and what is said where there is none. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPostgresUrl } from '../../src/engine/state/location.js';
import { prepareSchema } from '../../src/engine/state/postgres/backend.js';
import { connect } from '../../src/engine/state/postgres/connect.js';
import { PostgresDatabase } from '../../src/engine/state/postgres/database.js';
import { PASSWORD, startPostgres, type TestPostgres } from '../support/postgres.js';
import { hasPostgres } from './support.js';

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

const inFolder = (folder: string, command: string): Buffer =>
  execFileSync('openssl', command.split(' '), { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });

describe.runIf(hasPostgres && hasOpenssl)('TLS', () => {
  let server: TestPostgres;
  let plain: TestPostgres;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tls-'));
    chmodSync(folder, 0o755);
    for (const name of ['ca', 'other']) {
      inFolder(
        folder,
        `req -x509 -newkey rsa:2048 -nodes -keyout ${name}.key -out ${name}.crt -days 2 -subj /CN=${name}`,
      );
    }
    writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost');
    inFolder(folder, 'req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server');
    inFolder(
      folder,
      'x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile names',
    );
    const key = execFileSync('cat', [join(folder, 'server.key')]);
    const certificate = execFileSync('cat', [join(folder, 'server.crt')]);
    server = await startPostgres(['ssl = on'], { 'server.key': key, 'server.crt': certificate });
    plain = await startPostgres();
  });
  afterAll(async () => {
    await server?.remove();
    await plain?.remove();
  });

  /** Whether the connection that such a URL makes is encrypted; or what went wrong. */
  async function way(to: 'tls' | 'plain', host: string, query: string): Promise<string> {
    const url = (to === 'tls' ? server : plain)
      .url('profiles', { host, query })
      .replaceAll('CA', join(folder, 'ca.crt'))
      .replaceAll('OTHER', join(folder, 'other.crt'));
    try {
      const client = await connect(readPostgresUrl(url, 'test', { env: {}, user: 'me' }));
      const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
      await client.end();
      return (rows[0] as { ssl: number }).ssl === 1 ? 'encrypted' : 'plain';
    } catch (error) {
      return `refused: ${(error as Error).message}`;
    }
  }

  test.each([
    ['tls', 'localhost', '', 'encrypted'],
    ['tls', 'localhost', 'sslmode=disable', 'plain'],
    ['tls', 'localhost', 'sslmode=allow', 'plain'],
    ['tls', 'localhost', 'sslmode=prefer', 'encrypted'],
    ['tls', 'localhost', 'sslmode=require', 'encrypted'],
    ['tls', '127.0.0.1', 'sslmode=require', 'encrypted'],
    [
      'tls',
      'localhost',
      'sslmode=require&sslrootcert=OTHER',
      'refused: self.signed|refused: unable|certificate',
    ],
    ['tls', '127.0.0.1', 'sslmode=verify-ca&sslrootcert=CA', 'encrypted'],
    ['tls', '127.0.0.1', 'sslmode=verify-ca&sslrootcert=OTHER', 'refused: .*certificate'],
    ['tls', '127.0.0.1', 'sslmode=verify-ca', 'refused: sslmode=verify-ca needs sslrootcert'],
    ['tls', 'localhost', 'sslmode=verify-full&sslrootcert=CA', 'encrypted'],
    ['tls', '127.0.0.1', 'sslmode=verify-full&sslrootcert=CA', 'refused: .*(does not match|altnames)'],
    ['tls', 'localhost', 'sslmode=verify-full', 'refused: .*certificate'],
    [
      'tls',
      'localhost',
      'sslmode=verify-full&sslrootcert=/none',
      'refused: sslrootcert /none cannot be read',
    ],
    ['plain', 'localhost', 'sslmode=prefer', 'plain'],
    ['plain', 'localhost', 'sslmode=allow', 'plain'],
    ['plain', 'localhost', 'sslmode=require', 'refused: The server does not support SSL connections'],
    [
      'plain',
      'localhost',
      'sslmode=verify-full&sslrootcert=CA',
      'refused: The server does not support SSL connections',
    ],
    ['tls', 'localhost', 'channel_binding=require', 'encrypted'],
    ['plain', 'localhost', 'channel_binding=require', 'refused: channel_binding=require needs TLS'],
  ] as const)('a %s server as %s with "%s": %s', async (to, host, query, expected) => {
    expect(await way(to, host, query)).toMatch(new RegExp(expected));
  });
});

describe.runIf(hasPostgres)('a server with passwords', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server?.remove();
  });

  /** `null` when a state can be opened there. */
  async function problem(url: string, env: Record<string, string> = {}): Promise<string | null> {
    const db = new PostgresDatabase(readPostgresUrl(url, 'test', { env, user: 'postgres' }));
    try {
      await prepareSchema(db);
      return null;
    } catch (error) {
      const { message, hint } = error as Error & { hint?: string };
      return `${message} (${hint})`;
    } finally {
      await db.close();
    }
  }
  const bare = (): string => server.url('profiles', { password: '' });

  test('a password comes from the URL or from PGPASSWORD', async () => {
    expect(await problem(server.url('profiles'))).toBeNull();
    expect(await problem(bare(), { PGPASSWORD: PASSWORD })).toBeNull();
    expect(await problem(bare())).toMatch(/PGPASSWORD, a password file/);
    const wrong = await problem(server.url('profiles', { password: 'Hush' }));
    expect(wrong).toMatch(/password authentication failed/);
    expect(wrong).not.toContain('Hush');
  });

  test('or from a password file that nobody else can read', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'pass-')), 'pgpass');
    const escaped = PASSWORD.replace(/[\\:]/g, '\\$&');
    const lines = [
      '# a comment',
      'other:*:*:*:no',
      `127.0.0.1:${server.port}:*:postgres:${escaped}`,
      '*:*:*:*:no',
    ];
    writeFileSync(file, lines.join('\n'), { mode: 0o600 });
    expect(await problem(bare(), { PGPASSFILE: file })).toBeNull();
    chmodSync(file, 0o640);
    expect(await problem(bare(), { PGPASSFILE: file })).toMatch(/a password file/);
  });

  test('a Unix socket', async () => {
    const url = `postgres:///postgres?host=${encodeURIComponent(server.folder)}&port=${server.port}`;
    expect(await problem(`${url}&sslmode=require`)).toBeNull();
  });

  test('the first of several hosts that answers is used', async () => {
    const url = server.url('profiles').replace('@127.0.0.1:', '@127.0.0.1:1,127.0.0.1:');
    expect(await problem(url)).toBeNull();
  });

  test.each([
    ['nobody listens', (url: string) => url.replace(/:\d+\//, ':1/'), /ECONNREFUSED.*can be reached/],
    [
      'there is no such host',
      (url: string) => url.replace('127.0.0.1', 'no-such-host.invalid'),
      /no such host/,
    ],
    [
      'there is no such database',
      (url: string) => url.replace('/postgres?', '/nothing?'),
      /"nothing" does not exist.*create the database/,
    ],
  ])('%s: it says so at once', async (_, change, expected) => {
    expect(await problem(change(server.url('profiles')))).toMatch(expected);
  });

  test('a user needs no more than the documentation grants, and is told what is missing', async () => {
    server.sql(`
      CREATE ROLE loader LOGIN PASSWORD 'loader';
      REVOKE CREATE ON DATABASE postgres FROM PUBLIC;
    `);
    const url = server.url('granted', { user: 'loader', password: 'loader' });
    expect(await problem(url)).toMatch(/permission denied.*grant loader the rights on schema granted/);
    server.sql('CREATE SCHEMA granted; GRANT USAGE, CREATE ON SCHEMA granted TO loader');
    expect(await problem(url)).toBeNull();
    expect(await problem(url)).toBeNull();
  });
});
