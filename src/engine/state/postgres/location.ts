/**
 * Parses the URL of a PostgreSQL state, with the parameters of libpq. Defaults come from the environment
 * variables of libpq.
 */
import { isIPv6 } from 'node:net';
import { ConfigError } from '../../errors.js';
import { nearest } from '../../nearest.js';

export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

export interface PostgresHost {
  /** A name, an address, or the folder of a Unix socket. */
  host: string;
  port: number;
}

export interface PostgresLocation {
  kind: 'postgres';
  /** Tried in order until one can be written to. */
  hosts: readonly PostgresHost[];
  user: string;
  database: string;
  schema: string;
  /** Null: from the password file, if there is one. */
  password: string | null;
  /** The password file; null: the default path of libpq. */
  passfile: string | null;
  home: string | null;
  sslmode: SslMode;
  sslrootcert: string | null;
  sslcert: string | null;
  sslkey: string | null;
  requireChannelBinding: boolean;
  /** Options of the connection, like `PGOPTIONS`. */
  options: string | null;
  applicationName: string;
  connectTimeoutMs: number;
  /**
   * How long a lease lasts after its last heartbeat, in milliseconds. Other times of leases are fractions of
   * it.
   */
  leaseMs: number;
  /** The URL without a password, for messages. */
  name: string;
}

/** The environment from which defaults come. */
export interface PostgresSurroundings {
  env: Readonly<Record<string, string | undefined>>;
  /** User name of the operating system. */
  user: string;
}

const DEFAULT_PORT = 5432;
const CONNECT_SECONDS = 10;
const LEASE_SECONDS = 60;
/** The longest name, in bytes: PostgreSQL truncates longer ones. */
const NAME_BYTES = 63;

const PARAMETERS = [
  'schema',
  'host',
  'port',
  'user',
  'password',
  'dbname',
  'passfile',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'channel_binding',
  'options',
  'application_name',
  'connect_timeout',
  'lease_seconds',
] as const;
type Parameters = Partial<Record<(typeof PARAMETERS)[number], string>>;

/**
 * @param origin where the URL comes from; named in errors, which never quote the URL
 * @throws ConfigError
 */
export function readPostgresUrl(url: string, origin: string, around: PostgresSurroundings): PostgresLocation {
  const fail = (reason: string, hint = 'write postgres://user@host/database?schema=profiles'): ConfigError =>
    new ConfigError(`${origin}: ${reason}`, { hint });
  const parts = /^postgres(?:ql)?:\/\/([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/is.exec(url.trim());
  if (!parts) throw fail('not a URL of a PostgreSQL database');
  const [, server = '', path = '', query = ''] = parts;
  // An unescaped "/" or "?" in a password would make its rest look like a path or a parameter, and print it.
  if (server.includes(':') && !server.includes('@') && `${path}${query}`.includes('@')) {
    throw fail('the URL cannot be read', 'in a password, write "/" as %2F and "?" as %3F');
  }
  const at = server.lastIndexOf('@');
  const [login, authority] = at < 0 ? [undefined, server] : [server.slice(0, at), server.slice(at + 1)];
  const decoded = (text: string, what: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      throw fail(`the ${what} of the URL holds a "%" that is not followed by two hexadecimal digits`);
    }
  };
  const given: Parameters = {};
  for (const [name, value] of query.split('&').flatMap((pair) => (pair === '' ? [] : [nameAndValue(pair)]))) {
    if (!PARAMETERS.includes(name as never)) {
      const like = nearest(name, PARAMETERS);
      throw fail(
        `unknown parameter "${name}" in the URL`,
        like ? `did you mean "${like}"?` : `the parameters are ${PARAMETERS.join(', ')}`,
      );
    }
    given[name as keyof Parameters] = decoded(value, `parameter ${name}`);
  }
  const { env } = around;
  const colon = login?.indexOf(':') ?? -1;
  const loginUser = login && decoded(colon < 0 ? login : login.slice(0, colon), 'user');
  const loginPassword = login && colon >= 0 ? decoded(login.slice(colon + 1), 'password') : undefined;
  const user = given.user || loginUser || env.PGUSER || around.user;
  const database = given.dbname || decoded(path, 'database') || env.PGDATABASE || user;
  const schema = given.schema || 'profiles';
  for (const [what, name] of Object.entries({ user, database, schema })) {
    if (name.includes('\0') || Buffer.byteLength(name) > NAME_BYTES)
      throw fail(`the name of the ${what} is not possible`);
  }
  if (/^pg_|^information_schema$/.test(schema)) {
    throw fail(`the schema ${schema} belongs to PostgreSQL`, 'choose another name, such as schema=profiles');
  }
  const sslmode = given.sslmode || env.PGSSLMODE || 'prefer';
  if (!SSL_MODES.includes(sslmode as never)) {
    throw fail(`unknown sslmode "${sslmode}"`, `the modes are ${SSL_MODES.join(', ')}`);
  }
  const binding = given.channel_binding || env.PGCHANNELBINDING || 'prefer';
  if (!['disable', 'prefer', 'require'].includes(binding)) {
    throw fail(`unknown channel_binding "${binding}"`, 'write disable, prefer or require');
  }
  const seconds = (name: keyof Parameters, text: string | undefined, otherwise: number): number => {
    if (text === undefined || text === '') return otherwise;
    if (!/^\d{1,6}$/.test(text)) throw fail(`${name} must be a whole number of seconds, not "${text}"`);
    return Number(text);
  };
  const hosts = hostsOf(
    given.host ?? decoded(authority.replace(/:\d*(?=,|$)/g, ''), 'host'),
    given.port ?? portsOf(authority),
    env,
    fail,
  );
  const lease = seconds('lease_seconds', given.lease_seconds, LEASE_SECONDS);
  if (lease < 1) throw fail('lease_seconds must be at least 1');
  return {
    kind: 'postgres',
    hosts,
    user,
    database,
    schema,
    password: given.password || loginPassword || env.PGPASSWORD || null,
    passfile: given.passfile || env.PGPASSFILE || null,
    home: env.HOME || env.APPDATA || null,
    sslmode: sslmode as SslMode,
    sslrootcert: given.sslrootcert || env.PGSSLROOTCERT || null,
    sslcert: given.sslcert || env.PGSSLCERT || null,
    sslkey: given.sslkey || env.PGSSLKEY || null,
    requireChannelBinding: binding === 'require',
    options: given.options || env.PGOPTIONS || null,
    applicationName: given.application_name || env.PGAPPNAME || 'profiles',
    // In libpq, 0 means no limit. Here, it means the default, because an import must not wait forever.
    connectTimeoutMs:
      1_000 *
      (seconds('connect_timeout', given.connect_timeout ?? env.PGCONNECT_TIMEOUT, 0) || CONNECT_SECONDS),
    leaseMs: 1_000 * lease,
    name: nameOf({ hosts, user, database, schema }),
  };
}

function nameAndValue(pair: string): [string, string] {
  const at = pair.indexOf('=');
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
}

/** The ports of an authority: `1,` for `a:1,b`. */
const portsOf = (authority: string): string =>
  authority
    .split(',')
    .map((host) => /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? '')
    .join(',');

function hostsOf(
  hosts: string,
  ports: string,
  env: PostgresSurroundings['env'],
  fail: (reason: string) => ConfigError,
): PostgresHost[] {
  const names = (hosts || env.PGHOST || 'localhost')
    .split(',')
    .map((host) => host.replace(/^\[(.*)\]$/, '$1'));
  const numbers = (/\d/.test(ports) ? ports : (env.PGPORT ?? '')).split(',');
  if (numbers.length !== 1 && numbers.length !== names.length) {
    throw fail(`the URL has ${names.length} hosts and ${numbers.length} ports`);
  }
  return names.map((host, index) => {
    const text = numbers[numbers.length === 1 ? 0 : index]!;
    const port = text === '' ? DEFAULT_PORT : Number(text);
    if (!/^\d*$/.test(text) || port < 1 || port > 65_535) throw fail(`"${text}" is not a port`);
    // The host is not quoted, because it may be part of a password.
    if (/[\s\0]/.test(host) || (host.includes(':') && !isIPv6(host))) throw fail('the host cannot be read');
    return { host: host || 'localhost', port };
  });
}

function nameOf({
  hosts,
  user,
  database,
  schema,
}: Pick<PostgresLocation, 'hosts' | 'user' | 'database' | 'schema'>): string {
  const shown = hosts.map(({ host, port }) => {
    const name = host.includes(':') ? `[${host}]` : host.startsWith('/') ? encodeURIComponent(host) : host;
    return port === DEFAULT_PORT ? name : `${name}:${port}`;
  });
  return `postgres://${encodeURIComponent(user)}@${shown.join(',')}/${encodeURIComponent(database)}?schema=${encodeURIComponent(schema)}`;
}
