/**
 * Opens a connection to a PostgreSQL database like libpq: with its TLS modes, its password file, and several
 * hosts.
 */
import { readFileSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import pg, { type Client, type ClientConfig } from 'pg';
import { ConfigError } from '../../errors.js';
import type { PostgresHost, PostgresLocation } from '../location.js';

/** Parses int8 (20 in `pg_type`) and numeric (1700) as numbers, and booleans (16) as 0 and 1, as in SQLite. */
const TYPES: NonNullable<ClientConfig['types']> = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === 20 || oid === 1700) return Number;
    if (oid === 16) return (value: string) => (value === 't' ? 1 : 0);
    return pg.types.getTypeParser(oid, format as 'text');
  }) as typeof pg.types.getTypeParser,
};

/**
 * Connects to the first host that accepts writes. If TLS may be the reason of a failure, tries the other setting that the
 * sslmode allows.
 * @throws the error of the last host. Its `code` is an SQLSTATE for an error of the server, and a name such
 * as `ECONNREFUSED` for an error of the network
 */
export async function connect(location: PostgresLocation): Promise<Client> {
  let failure: unknown;
  for (const host of location.hosts) {
    for (const ssl of sslAttempts(host, location)) {
      try {
        return await open(host, ssl, location);
      } catch (error) {
        failure = error;
        if (!isAboutTls(error)) break;
      }
    }
  }
  throw failure;
}

async function open(
  host: PostgresHost,
  ssl: ClientConfig['ssl'],
  location: PostgresLocation,
): Promise<Client> {
  const client = new pg.Client({
    ...host,
    user: location.user,
    database: location.database,
    // A function, because `pg` would otherwise look for a password itself.
    password: async () => location.password ?? passwordFromFile(host, location) ?? '',
    ssl,
    enableChannelBinding: Boolean(ssl),
    connectionTimeoutMillis: location.connectTimeoutMs,
    keepAlive: true,
    application_name: location.applicationName,
    ...(location.options !== null && { options: location.options }),
    types: TYPES,
  } as ClientConfig);
  // Without a listener, an error between two queries would end the process. The next query reports it.
  client.on('error', () => {});
  try {
    await client.connect();
    if (location.requireChannelBinding && !ssl) throw new Error('channel_binding=require needs TLS');
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby');
    // As a server says that has become one.
    if ((rows[0] as { standby: number }).standby === 1)
      throw Object.assign(new Error('the server is a standby, which can only be read'), { code: '25006' });
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

/** The TLS settings to try, in order; `false` means without TLS. Unix sockets need no TLS. */
function sslAttempts({ host }: PostgresHost, location: PostgresLocation): ClientConfig['ssl'][] {
  const { sslmode } = location;
  if (host.startsWith('/') || sslmode === 'disable') return [false];
  if (sslmode === 'allow') return [false, tlsOptions(location)];
  return sslmode === 'prefer' ? [tlsOptions(location), false] : [tlsOptions(location)];
}

/**
 * The TLS options for an sslmode, as libpq defines it: `require` checks the certificate only if there is a
 * root certificate, and weaker modes never do.
 * @throws ConfigError if a file cannot be read, or `verify-ca` has no root certificate
 */
function tlsOptions(location: PostgresLocation): ConnectionOptions {
  const { sslmode } = location;
  const file = (what: 'sslrootcert' | 'sslcert' | 'sslkey', path = location[what]): Buffer | undefined => {
    if (path === null) return undefined;
    try {
      return readFileSync(path);
    } catch (error) {
      throw new ConfigError(`${what} ${path} cannot be read: ${(error as Error).message}`, { cause: error });
    }
  };
  const client = { cert: file('sslcert'), key: file('sslkey') };
  const isChecked = sslmode === 'require' || sslmode.startsWith('verify');
  // Without one, or with `system`, the certificate authorities of Node.
  const root =
    location.sslrootcert ?? usualFile(location.home, 'postgresql/root.crt', '.postgresql/root.crt');
  const ca = isChecked && root !== 'system' ? file('sslrootcert', root) : undefined;
  if (sslmode === 'verify-full') return { ...client, ca };
  if (sslmode === 'verify-ca' && !ca) {
    throw new ConfigError('sslmode=verify-ca needs sslrootcert, the certificate of your own authority', {
      hint: 'name its file with sslrootcert, or use sslmode=verify-full with a certificate of a public authority',
    });
  }
  if (ca) return { ...client, ca, checkServerIdentity: () => undefined };
  return { ...client, rejectUnauthorized: false };
}

/** A file where libpq looks for it; null if there is none. */
function usualFile(home: string | null, onWindows: string, elsewhere: string): string | null {
  const path = home === null ? null : join(home, platform() === 'win32' ? onWindows : elsewhere);
  return path && statSync(path, { throwIfNoEntry: false })?.isFile() ? path : null;
}

/**
 * Whether another TLS setting may help: the server has no TLS, the handshake failed, or the rules of the
 * server reject this setting.
 */
function isAboutTls(error: unknown): boolean {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return (
    message.includes('SSL') ||
    /^(ERR_(SSL|TLS)|EPROTO|28000$|CERT_|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/.test(code)
  );
}

/**
 * Reads the password from the first matching line of the password file, as libpq does: fields are separated
 * by `:`, `*` matches any value, and `\` escapes a character. A file that other users can read is ignored.
 * Undefined if no line matches. Not with `pgpass` (1.0): it takes the file from the process's own environment only,
 * leaves out lines of less than 11 characters, and finds no password for a Unix socket.
 */
function passwordFromFile({ host, port }: PostgresHost, location: PostgresLocation): string | undefined {
  const { user, database } = location;
  const file = location.passfile ?? usualFile(location.home, 'postgresql/pgpass.conf', '.pgpass');
  const found = file ? statSync(file, { throwIfNoEntry: false }) : undefined;
  if (!file || !found?.isFile() || (platform() !== 'win32' && (found.mode & 0o077) !== 0)) return undefined;
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of readFileSync(file, 'utf8').split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field]) => field!);
    const fits = wanted.every((value, index) => fields[index] === '*' || unescaped(fields[index]) === value);
    if (fits && fields[4] !== undefined) return unescaped(fields[4]);
  }
  return undefined;
}

const unescaped = (field: string | undefined): string | undefined => field?.replace(/\\(.)/g, '$1');
