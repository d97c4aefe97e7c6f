/**
 * The location of a state: a folder on this machine, or a PostgreSQL database, whose URL is read with the parameters and
 * the environment variables of libpq. Not with `pg-connection-string` (2.14): it reads no list of hosts, takes "+" for a
 * space and a typing error for a parameter, reads certificates itself, and warns on stderr of the default sslmode.
 */
import { isIPv6 } from 'node:net';
import { posix, win32 } from 'node:path';
import { ConfigError } from '../errors.js';
import { nearest } from '../util/nearest.js';

export type StateLocation =
  | { kind: 'sqlite'; folder: string }
  /** The URL is parsed when the state is opened (`readPostgresUrl`). It may contain a password. */
  | { kind: 'postgres'; url: string };

const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:/i.test(text);

/** Whether a URL contains a password, even if it cannot be parsed. */
export const hasPassword = (url: string): boolean =>
  isPostgresUrl(url) && (/^[a-z]+:\/\/[^/@]*:[^@]*@/i.test(url) || /[?&]password=/i.test(url));

/** The URL in a form that can be printed, without anything that may be part of a password. */
export const withoutPassword = (url: string): string =>
  url.replace(/^([a-z]+:\/\/[^/@:]*):.*@/is, '$1:…@').replace(/([?&]password=)[^&]*/gi, '$1…');

/**
 * Parses a path, `sqlite:<directory>`, or a PostgreSQL URL.
 * @param origin where the text comes from; named in errors, which never quote a URL
 * @param cwd folder for relative paths
 * @throws ConfigError for any other URL
 */
export function stateLocationOf(
  text: string,
  origin: string,
  { cwd, platform }: { cwd: string; platform: NodeJS.Platform },
): StateLocation {
  if (isPostgresUrl(text)) return { kind: 'postgres', url: text };
  const [, scheme] = /^([a-z][a-z0-9+.-]+):/i.exec(text) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== 'sqlite') {
    throw new ConfigError(`${origin}: ${scheme} is not a kind of database that can hold the state`, {
      hint: 'write a path, sqlite:<directory>, or postgres://user@host/database?schema=profiles',
    });
  }
  const path = scheme === undefined ? text : text.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  if (path === '') throw new ConfigError(`${origin}: the directory is missing`);
  return { kind: 'sqlite', folder: (platform === 'win32' ? win32 : posix).resolve(cwd, path) };
}

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;

export interface PostgresHost {
  /** A name, an address, or the folder of a Unix socket. */
  host: string;
  port: number;
}

/** Null: not given. `options` are those of the connection, like `PGOPTIONS`. */
const OPTIONAL = ['password', 'passfile', 'sslrootcert', 'sslcert', 'sslkey', 'options'] as const;
type Optional = Record<(typeof OPTIONAL)[number], string | null>;

export interface PostgresLocation extends Optional {
  /** Where files of libpq may be. */
  home: string | null;
  /** Tried in order until one can be written to. */
  hosts: readonly PostgresHost[];
  user: string;
  database: string;
  schema: string;
  sslmode: (typeof SSL_MODES)[number];
  requireChannelBinding: boolean;
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

const DEFAULT_PORT = 5432;
/** In libpq, 0 means no limit. Here, it means this, because an import must not wait forever. */
const CONNECT_SECONDS = 10;
const LEASE_SECONDS = 60;
/** The longest name, in bytes: PostgreSQL truncates longer ones. */
const NAME_BYTES = 63;

/** The parameters, each with the variable of its default. */
const PARAMETERS = {
  schema: null,
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  dbname: 'PGDATABASE',
  passfile: 'PGPASSFILE',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  channel_binding: 'PGCHANNELBINDING',
  options: 'PGOPTIONS',
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  lease_seconds: null,
} as const;
type Parameter = keyof typeof PARAMETERS;
type Given = { [P in Parameter]?: string | undefined };

/** Scheme, user, password, hosts, database, and parameters. The last "@" ends the password. */
const FORM = /^postgres(?:ql)?:\/\/(?:([^/?:]*?)(?::([^/?]*))?@)?([^/?@]*)(?:\/([^?]*))?(?:\?(.*))?$/is;

type Fail = (reason: string, hint?: string) => ConfigError;

/**
 * @param origin where the URL comes from; named in errors, which never quote the URL
 * @param surroundings the environment from which defaults come, and the user name of the operating system
 * @throws ConfigError
 */
export function readPostgresUrl(
  url: string,
  origin: string,
  { env, user: me }: { env: Readonly<Record<string, string | undefined>>; user: string },
): PostgresLocation {
  const fail: Fail = (reason, hint = 'write postgres://user@host/database?schema=profiles') =>
    new ConfigError(`${origin}: ${reason}`, { hint });
  const given = parametersIn(url.trim(), fail);
  const value = (name: Parameter): string | null => given[name] || env[PARAMETERS[name] ?? ''] || null;
  const word = <W extends string>(name: Parameter, words: readonly W[], otherwise: W): W => {
    const text = value(name) ?? otherwise;
    const known = words.find((each) => each === text);
    if (known) return known;
    throw fail(`unknown ${name} "${text}"`, `the modes are ${words.join(', ')}`);
  };
  const seconds = (name: Parameter, otherwise: number): number => {
    const text = value(name) ?? String(otherwise);
    if (!/^\d{1,6}$/.test(text)) throw fail(`${name} must be a whole number of seconds, not "${text}"`);
    return Number(text);
  };
  const user = value('user') ?? me;
  const where = { user, schema: value('schema') ?? 'profiles', database: value('dbname') ?? user };
  for (const [what, name] of Object.entries(where)) {
    if (name.includes('\0') || Buffer.byteLength(name) > NAME_BYTES)
      throw fail(`the name of the ${what} is not possible`);
  }
  if (/^pg_|^information_schema$/.test(where.schema))
    throw fail(
      `the schema ${where.schema} belongs to PostgreSQL`,
      'choose another name, such as schema=profiles',
    );
  // Ports of the URL belong to its hosts.
  const ports = /\d/.test(given.port ?? '') ? given.port! : (env.PGPORT ?? '');
  const hosts = hostsOf(value('host') ?? 'localhost', ports, fail);
  const leaseMs = 1_000 * seconds('lease_seconds', LEASE_SECONDS);
  if (leaseMs === 0) throw fail('lease_seconds must be at least 1');
  const [shownUser, database, schema] = [user, where.database, where.schema].map(encodeURIComponent);
  return {
    ...where,
    hosts,
    name: `postgres://${shownUser}@${hosts.map(shown).join(',')}/${database}?schema=${schema}`,
    home: env.HOME || env.APPDATA || null,
    ...(Object.fromEntries(OPTIONAL.map((name) => [name, value(name)])) as Optional),
    sslmode: word('sslmode', SSL_MODES, 'prefer'),
    requireChannelBinding: word('channel_binding', ['disable', 'prefer', 'require'], 'prefer') === 'require',
    applicationName: value('application_name') ?? 'profiles',
    connectTimeoutMs: 1_000 * (seconds('connect_timeout', 0) || CONNECT_SECONDS),
    leaseMs,
  };
}

/** What the URL says, by parameter. */
function parametersIn(url: string, fail: Fail): Given {
  const decoded = (text: string, what: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      throw fail(`the ${what} of the URL holds a "%" that is not followed by two hexadecimal digits`);
    }
  };
  const parts = FORM.exec(url);
  if (!parts) throw fail('not a URL of a PostgreSQL database');
  const [, user, password, authority = '', path = '', query = ''] = parts;
  // An unescaped "/" or "?" in a password would make its rest look like a path or a parameter, and print it.
  if (authority.includes(':') && user === undefined && `${path}${query}`.includes('@'))
    throw fail('the URL cannot be read', 'in a password, write "/" as %2F and "?" as %3F');
  const hosts = authority.split(',').map((text) => /^(\[.*\]|[^:]*|.*?)(?::(\d*))?$/.exec(text)!);
  const given: Given = {
    user: user && decoded(user, 'user'),
    password: password && decoded(password, 'password'),
    host: hosts.map(([, host]) => decoded(host!, 'host')).join(','),
    port: hosts.map(([, , port = '']) => port).join(','),
    dbname: decoded(path, 'database'),
  };
  for (const pair of query.split('&').filter((pair) => pair !== '')) {
    const [name, ...value] = pair.split('=');
    if (!Object.hasOwn(PARAMETERS, name!)) {
      const like = nearest(name!, Object.keys(PARAMETERS));
      const all = `the parameters are ${Object.keys(PARAMETERS).join(', ')}`;
      throw fail(`unknown parameter "${name}" in the URL`, like ? `did you mean "${like}"?` : all);
    }
    given[name as Parameter] = decoded(value.join('='), `parameter ${name}`) || given[name as Parameter];
  }
  return given;
}

/** @param ports separated by commas; one is that of all hosts */
function hostsOf(hosts: string, ports: string, fail: Fail): PostgresHost[] {
  const names = hosts.split(',').map((host) => host.replace(/^\[(.*)\]$/, '$1'));
  const numbers = ports.split(',');
  if (numbers.length !== 1 && numbers.length !== names.length)
    throw fail(`the URL has ${names.length} hosts and ${numbers.length} ports`);
  return names.map((host, index) => {
    const text = numbers[numbers.length === 1 ? 0 : index]!;
    const port = text === '' ? DEFAULT_PORT : Number(text);
    if (!/^\d*$/.test(text) || port < 1 || port > 65_535) throw fail(`"${text}" is not a port`);
    // The host is not quoted, because it may be part of a password.
    if (/[\s\0]/.test(host) || (host.includes(':') && !isIPv6(host))) throw fail('the host cannot be read');
    return { host: host || 'localhost', port };
  });
}

function shown({ host, port }: PostgresHost): string {
  const name = host.includes(':') ? `[${host}]` : host.startsWith('/') ? encodeURIComponent(host) : host;
  return port === DEFAULT_PORT ? name : `${name}:${port}`;
}
