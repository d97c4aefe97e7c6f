/** URLs of a PostgreSQL state, read as libpq reads them. */
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../../src/engine/errors.js';
import {
  hasPassword,
  type PostgresLocation,
  readPostgresUrl,
  stateLocationOf,
  withoutPassword,
} from '../../../../src/engine/state/location.js';

const read = (url: string, env: Record<string, string> = {}): PostgresLocation =>
  readPostgresUrl(url, 'PROFILES_STATE', { env, user: 'me' });

describe('a URL', () => {
  const host = (name: string, port = 5432) => ({ host: name, port });
  const rows: [url: string, env: Record<string, string>, Partial<PostgresLocation>][] = [
    [
      'postgres://u@h/d?schema=s',
      {},
      { hosts: [host('h')], user: 'u', database: 'd', schema: 's', password: null },
    ],
    [
      'postgresql://h',
      {},
      { hosts: [host('h')], user: 'me', database: 'me', schema: 'profiles', sslmode: 'prefer' },
    ],
    ['postgres://', {}, { hosts: [host('localhost')], user: 'me', database: 'me' }],
    ['postgres://u:p%40:%2F@h:99/d%20b', {}, { password: 'p@:/', hosts: [host('h', 99)], database: 'd b' }],
    ['postgres://u:p@ss:x@h/d', {}, { user: 'u', password: 'p@ss:x', hosts: [host('h')] }],
    ['postgres://[::1]:99/d', {}, { hosts: [host('::1', 99)] }],
    ['postgres://[::1]/d', {}, { hosts: [host('::1')] }],
    ['postgres://a,b:99,c/d', {}, { hosts: [host('a'), host('b', 99), host('c')] }],
    ['postgres:///d?host=a,b&port=98,99', {}, { hosts: [host('a', 98), host('b', 99)] }],
    ['postgres:///d?host=/run/pg', {}, { hosts: [host('/run/pg')] }],
    ['postgres://%2Frun%2Fpg/d', {}, { hosts: [host('/run/pg')] }],
    ['postgres://h/d?user=u&password=p%26&dbname=e', {}, { user: 'u', password: 'p&', database: 'e' }],
    ['postgres://h/d?password=a+b', {}, { password: 'a+b' }],
    [
      'postgres://',
      { PGHOST: 'h', PGPORT: '99', PGUSER: 'u', PGDATABASE: 'd', PGPASSWORD: 'p' },
      { hosts: [host('h', 99)], user: 'u', database: 'd', password: 'p' },
    ],
    [
      'postgres://u:own@h:1/d',
      { PGHOST: 'x', PGPORT: '99', PGUSER: 'x', PGDATABASE: 'x', PGPASSWORD: 'x' },
      { hosts: [host('h', 1)], user: 'u', database: 'd', password: 'own' },
    ],
    [
      'postgres://h?sslmode=verify-full&sslrootcert=/ca.crt',
      { PGSSLMODE: 'disable' },
      { sslmode: 'verify-full', sslrootcert: '/ca.crt' },
    ],
    [
      'postgres://h',
      { PGSSLMODE: 'require', PGSSLROOTCERT: '/r', PGPASSFILE: '/p', PGAPPNAME: 'nightly' },
      { sslmode: 'require', sslrootcert: '/r', passfile: '/p', applicationName: 'nightly' },
    ],
    ['postgres://h?connect_timeout=3&lease_seconds=6', {}, { connectTimeoutMs: 3_000, leaseMs: 6_000 }],
    ['postgres://h', { PGCONNECT_TIMEOUT: '0' }, { connectTimeoutMs: 10_000, leaseMs: 60_000, home: null }],
    ['postgres://h', { HOME: '/home/me' }, { home: '/home/me' }],
  ];
  it.each(rows)('%s', (url, env, expected) => {
    expect(read(url, env)).toMatchObject(expected);
  });

  it.each([
    ['postgres://u:Hush@h:99/d?password=Hush', 'postgres://u@h:99/d?schema=profiles'],
    ['postgres://u%40x@[::1]/d%2Fe?schema=a%20b', 'postgres://u%40x@[::1]/d%2Fe?schema=a%20b'],
    ['postgres:///d?host=/run/pg&user=u', 'postgres://u@%2Frun%2Fpg/d?schema=profiles'],
    ['postgres://u@a:1,b/d', 'postgres://u@a:1,b/d?schema=profiles'],
  ])('%s is named without a password, and the name reads as the same', (url, name) => {
    expect(read(url).name).toBe(name);
    const { password: _, ...rest } = read(url);
    expect(read(name)).toMatchObject(rest);
  });

  it.each([
    ['http://h/d', 'not a URL of a PostgreSQL database'],
    ['postgres:h', 'not a URL of a PostgreSQL database'],
    ['postgres://h/d?sslmod=require', 'unknown parameter "sslmod" in the URL', 'did you mean "sslmode"?'],
    [
      'postgres://h/d?sslmode=on',
      'unknown sslmode "on"',
      'the modes are disable, allow, prefer, require, verify-ca, verify-full',
    ],
    ['postgres://h:99999/d', 'a port'],
    ['postgres://a,b:1/d?port=1,2,3', 'has 2 hosts and 3 ports'],
    ['postgres://h/d?schema=pg_catalog', 'the schema pg_catalog belongs to PostgreSQL'],
    [`postgres://h/d?schema=${'x'.repeat(64)}`, 'the name of the schema is not possible'],
    ['postgres://h/d%zz', 'the database of the URL holds a "%"'],
    ['postgres://h/d?connect_timeout=5s', 'connect_timeout must be a whole number of seconds'],
    ['postgres://h/d?lease_seconds=0', 'lease_seconds must be at least 1'],
  ])('%s is refused', (url, message, hint?: string) => {
    const error = refusal(url);
    expect(error.message).toMatch(/^PROFILES_STATE: /);
    expect(error.message).toContain(message);
    if (hint) expect(error.hint).toBe(hint);
  });

  it.each([
    'postgres://u:Hu/sh@h/d',
    'postgres://u:Hu?sh@h/d',
    'postgres://u:Hu?sh=1@h/d',
    'postgres://u:1/Hush@h/d',
    'postgres://u:%Hush@h/d',
    'postgres://u:Hush@h:Hush/d',
  ])('%s is refused, and no part of its password is shown', (url) => {
    const { message, hint } = refusal(url);
    expect(`${message} ${hint}`).not.toMatch(/Hu|sh\b|sh@/);
    expect(hasPassword(url)).toBe(true);
    expect(withoutPassword(url)).not.toMatch(/Hu.*@|sh@/);
  });
});

it.each([
  ['postgres://u@h/d', false],
  ['postgres://h:5432/d', false],
  ['postgres://u:p@h/d', true],
  ['postgres://h/d?password=p', true],
  ['POSTGRESQL://u:p@h/d', true],
  ['/a:b@c', false],
])('%s holds a password: %s', (url, holds) => {
  expect(hasPassword(url)).toBe(holds);
});

it.each([
  ['linux', '/s', '/s'],
  ['linux', 's', '/w/s'],
  ['linux', 'sqlite:s', '/w/s'],
  ['linux', 'sqlite:///s', '/s'],
  ['linux', './postgres', '/w/postgres'],
  ['win32', 'D:\\s', 'D:\\s'],
] as const)('on %s, %s is the folder %s', (platform, text, folder) => {
  const cwd = platform === 'win32' ? 'C:\\w' : '/w';
  expect(stateLocationOf(text, 'x', { cwd, platform })).toEqual({ kind: 'sqlite', folder });
});

function refusal(url: string): ConfigError {
  try {
    read(url);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('it was taken');
}
