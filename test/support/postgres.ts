/**
 * Debian's PostgreSQL in a temporary folder, with PgBouncer in transaction mode in front of it. Each one ends
 * with the process that started it: a shell waits for the end of a pipe, and then stops it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** A password that must be quoted wherever it is written. */
export const PASSWORD = `pass'w:ö/r d@?"#%41\\`;

/** Debian does not put them on the PATH. */
const BINARIES = '/usr/lib/postgresql';
const POOLERS = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'];

/** How long a server may take to start or stop. */
const PATIENCE_MS = 60_000;

const pooler = (): string | undefined => POOLERS.find((path) => existsSync(path));

/** Why tests with PostgreSQL cannot run here; null if they can. */
export function missingForPostgres(): string | null {
  if (!existsSync(BINARIES)) return 'PostgreSQL is not installed (apt-get install postgresql)';
  return pooler() ? null : 'PgBouncer is not installed (apt-get install pgbouncer)';
}

export interface PostgresClient {
  /** The URL of a schema, over TCP unless `host` says otherwise. */
  url(schema: string, more?: { user?: string; password?: string; query?: string; host?: string }): string;
  /** Runs statements as the superuser. Returns what psql prints, without headings. */
  sql(statements: string, database?: string): string;
  /** Removes the schemas that exist. */
  drop(...schemas: readonly string[]): void;
}

export interface TestPostgres extends PostgresClient {
  /** The folder of its data and its socket. */
  readonly folder: string;
  readonly port: number;
  /** `immediate` simulates a failure of the machine. */
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again, on the same port and with the same data. */
  start(): Promise<void>;
  /** Stops it, and removes its folder. */
  remove(): Promise<void>;
}

export interface TestPooler extends Pick<PostgresClient, 'url'> {
  readonly port: number;
  /** Whether a statement reaches the server. After a crash of the server, none does for a while. */
  isReady(): boolean;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/**
 * @param settings lines of postgresql.conf
 * @param files files to put beside the data, by name
 * @param parent where its folder is made
 */
export async function startPostgres(
  settings: readonly string[] = [],
  files: Readonly<Record<string, Uint8Array>> = {},
  parent = tmpdir(),
): Promise<TestPostgres> {
  const folder = give(mkdtempSync(join(parent, 'pg-')));
  const data = join(folder, 'data');
  const secret = join(folder, 'password');
  writeFileSync(secret, `${PASSWORD}\n`);
  give(secret);
  run('initdb', [
    `--pgdata=${data}`,
    '--username=postgres',
    `--pwfile=${secret}`,
    '--auth-local=trust',
    '--auth-host=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C.UTF-8',
  ]);
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(data, name), content);
    give(join(data, name));
  }
  const port = await freePort();
  const lines = [
    "listen_addresses = '127.0.0.1'",
    `port = ${port}`,
    `unix_socket_directories = '${folder}'`,
    // As on a real server. In a folder in memory it costs nothing.
    'fsync = on',
    'max_connections = 120',
    'shared_buffers = 32MB',
    ...settings,
  ];
  writeFileSync(join(data, 'postgresql.conf'), `${lines.join('\n')}\n`);
  return serve({ folder, data, port });
}

/** Starts a server on existing data. */
export async function serve({
  folder,
  data,
  port,
}: {
  folder: string;
  data: string;
  port: number;
}): Promise<TestPostgres> {
  let server: Guarded | null = null;
  const client = clientOf({ folder, port });
  const postgres: TestPostgres = {
    ...client,
    folder,
    port,
    async stop(how = 'fast') {
      const stopping = server;
      server = null;
      await stopping?.stop(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    },
    async start() {
      server = guard(program('postgres'), ['-D', data], 'QUIT', how(folder));
      await server.until(() => client.sql('SELECT 1') === '1');
    },
    async remove() {
      await postgres.stop('immediate');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  await postgres.start();
  return postgres;
}

/** A client of a server that another process started. For the port of a pooler, only `url` works. */
export function clientOf({ folder, port }: { folder: string; port: number }): PostgresClient {
  const client: PostgresClient = {
    url(schema, { user = 'postgres', password = PASSWORD, query = '', host = '127.0.0.1' } = {}) {
      const login = `${user}${password === '' ? '' : `:${encodeURIComponent(password)}`}`;
      return `postgres://${login}@${host}:${port}/postgres?schema=${schema}${query && `&${query}`}`;
    },
    sql(statements, database = 'postgres') {
      const server = [`--host=${folder}`, `--port=${port}`, '--username=postgres', database];
      return execFileSync(program('psql'), ['-XqtA', '--set=ON_ERROR_STOP=1', ...server], {
        input: statements,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'pipe'],
      }).trimEnd();
    },
    drop(...schemas) {
      const each = schemas.map((schema) => `DROP SCHEMA IF EXISTS ${schema} CASCADE;`);
      client.sql(['SET client_min_messages = error;', ...each].join('\n'));
    },
  };
  return client;
}

/** @param settings lines of the section `pgbouncer` */
export async function startPooler(of: TestPostgres, settings: readonly string[] = []): Promise<TestPooler> {
  const port = await freePort();
  const file = join(of.folder, `pgbouncer-${port}.ini`);
  const users = join(of.folder, `users-${port}.txt`);
  const quoted = PASSWORD.replaceAll('"', '""');
  writeFileSync(users, `"postgres" "${quoted}"\n`);
  const lines = [
    '[databases]',
    `postgres = host=127.0.0.1 port=${of.port} dbname=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    // Fewer than the connections of the tests, so that code which needs its own session fails.
    'default_pool_size = 8',
    'server_login_retry = 1',
    ...settings,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  for (const path of [file, users]) give(path);
  let server: Guarded | null = null;
  const started: TestPooler = {
    port,
    url: clientOf({ folder: of.folder, port }).url,
    isReady() {
      const address = `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`;
      try {
        execFileSync(program('psql'), ['-Xqc', 'SELECT 1', address], { stdio: 'pipe' });
        return true;
      } catch {
        return false;
      }
    },
    async stop() {
      const stopping = server;
      server = null;
      await stopping?.stop('SIGTERM');
    },
    async start() {
      server = guard(pooler()!, ['-q', file], 'TERM', how(of.folder));
      await server.until(() => answers(port));
    },
  };
  await started.start();
  return started;
}

interface Guarded {
  until(isReady: () => boolean | Promise<boolean>): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** Runs a server below a shell, which sends it `end` when this process ends, because that closes a pipe. */
function guard(
  server: string,
  args: readonly string[],
  end: string,
  options: ReturnType<typeof how>,
): Guarded {
  const script =
    'end=$1; shift; "$@" </dev/null & pid=$!; echo $pid; (read -r _; kill -$end $pid) <&3 & wait $pid; kill $! 2>/dev/null';
  const shell: ChildProcess = spawn('sh', ['-c', script, 'sh', end, server, ...args], {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  let said = '';
  // A server that answers may not have been heard of yet.
  const pid = once(shell.stdout!, 'data').then(([text]) => Number(text));
  shell.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const exit = once(shell, 'exit');
  return {
    async until(isReady) {
      for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
        if (shell.exitCode !== null) break;
        try {
          if (await isReady()) return;
        } catch {
          // Not ready yet.
        }
        await wait(50);
      }
      throw new Error(`${server} did not start: ${said}`);
    },
    async stop(signal) {
      if (shell.exitCode !== null) return;
      process.kill(await pid, signal);
      await Promise.race([exit, wait(PATIENCE_MS, undefined, { ref: false })]);
      shell.kill('SIGKILL');
    },
  };
}

/** The user to run as: PostgreSQL and PgBouncer refuse to run as root. */
function how(cwd: string): { cwd: string; uid?: number; gid?: number } {
  const id = serverUser();
  return { cwd, ...(id && { uid: id.uid, gid: id.gid }) };
}

/** Runs a program of PostgreSQL until it ends. */
export function run(name: string, args: readonly string[]): void {
  execFileSync(program(name), args, { ...how('/'), stdio: 'pipe', env: { ...process.env, TZ: 'UTC' } });
}

function program(name: string): string {
  const newest = readdirSync(BINARIES)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(BINARIES, version, 'bin', name))
    .find((path) => existsSync(path));
  if (!newest) throw new Error(missingForPostgres() ?? `${name} is not installed`);
  return newest;
}

function serverUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Gives a file or folder to the user that the servers run as. Nobody else can read it. */
export function give(path: string): string {
  const user = serverUser();
  if (user) chownSync(path, user.uid, user.gid);
  chmodSync(path, 0o700);
  return path;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
