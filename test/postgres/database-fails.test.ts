/** What becomes of an import whose database fails (contract §10): a clear end, no row lost, nothing acknowledged sent again. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { built, type Ended } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { freePort, give, run, serve, startPostgres, type TestPostgres } from '../support/postgres.js';
import { Machine } from '../support/workspace.js';
import { checkSessions, companiesOf, type Session } from './sessions.js';
import { hasPostgres } from './support.js';

const ROWS = 40;
const REQUESTS = 8;
const SCHEMA = 'profiles';

/** A standby that follows a server, and can take its place. */
interface Standby extends TestPostgres {
  /** It receives nothing more. */
  deafen(): Promise<void>;
  /** From now on it can be written to. */
  promote(): Promise<void>;
}

/** @param primary nothing is written to it but what the standby has, once this resolves */
async function startStandby(primary: TestPostgres): Promise<Standby> {
  const folder = give(mkdtempSync(join(tmpdir(), 'pg-standby-')));
  const data = join(folder, 'data');
  const port = await freePort();
  const source = `host=${primary.folder} port=${primary.port} user=postgres`;
  run('pg_basebackup', [
    '-D',
    data,
    '-d',
    source,
    '--wal-method=stream',
    '--checkpoint=fast',
    '--write-recovery-conf',
  ]);
  const lines = [`port = ${port}`, `unix_socket_directories = '${folder}'`];
  appendFileSync(join(data, 'postgresql.conf'), `${lines.join('\n')}\n`);
  const server = await serve({ folder, data, port });
  const receivers = (): string => server.sql('SELECT count(*) FROM pg_stat_wal_receiver');
  await expect.poll(receivers).toBe('1');
  return {
    ...server,
    async deafen() {
      server.sql("ALTER SYSTEM SET primary_conninfo = ''");
      server.sql('SELECT pg_reload_conf()');
      await expect.poll(receivers).toBe('0');
    },
    async promote() {
      server.sql('SELECT pg_promote()');
      await expect.poll(() => server.sql('SELECT pg_is_in_recovery()')).toBe('f');
    },
  };
}

describe.runIf(hasPostgres)('an import whose database', () => {
  let service: FaultServer;
  const sessions: Session[] = [];
  beforeAll(built);
  beforeEach(async () => {
    service = await new FaultServer().start();
    sessions.length = 0;
  });
  afterEach(() => service.stop());

  const owned = <T extends TestPostgres>(server: T): T => {
    onTestFinished(() => server.remove());
    return server;
  };
  /** Each session is another machine's. @param at the database, or the hosts to be tried */
  async function imports(at: string, more = '', rows = ROWS): Promise<Ended> {
    const machine = new Machine(service.url);
    machine.env.PROFILES_STATE = at;
    machine.write('companies.csv', companiesOf(1, rows));
    const sizes = `--chunk-size ${rows / REQUESTS} -o interval=1ms`;
    const ended = await machine.start(`import companies.csv ${sizes} --ndjson ${more}`.trim()).ended;
    sessions.push({ ended, until: service.ledger.arrivals.length });
    return ended;
  }
  const check = (rows = ROWS): void => checkSessions(sessions, service.ledger.arrivals, { file: 1, rows });
  const hosts = (...servers: readonly TestPostgres[]): string =>
    servers[0]!
      .url(SCHEMA, { query: 'sslmode=disable' })
      .replace(/@[^/]+/, `@${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`);

  test.for(['fast', 'immediate'] as const)('is restarted (%s): it continues', async (how) => {
    const server = owned(await startPostgres());
    service.during(3, async () => {
      await server.stop(how);
      await server.start();
    });
    const { code, stderr } = await imports(server.url(SCHEMA));
    expect(code, stderr).toBe(0);
    check();
  });

  test('becomes read-only by default, as for a role that is to read only: it continues', async () => {
    const server = owned(await startPostgres());
    service.during(3, () => {
      server.sql('ALTER SYSTEM SET default_transaction_read_only = on');
      server.sql('SELECT pg_reload_conf()');
    });
    const { code, stderr } = await imports(server.url(SCHEMA));
    expect(code, stderr).toBe(0);
    check();
  });

  test('is a standby: exit 1, with what to do', async () => {
    const primary = owned(await startPostgres());
    expect((await imports(primary.url(SCHEMA))).code).toBe(0);
    const standby = owned(await startStandby(primary));
    const { code, stderr } = await imports(standby.url(SCHEMA));
    expect(code).toBe(1);
    expect(stderr).toContain('the server is a standby, which can only be read');
    expect(stderr).toContain('name the primary server, or all servers separated by commas');
    expect(service.ledger.arrivals).toHaveLength(REQUESTS);
  });

  test('fails over to a standby that has every commit: it continues', async () => {
    const primary = owned(await startPostgres(['shared_buffers = 16MB']));
    const standby = owned(await startStandby(primary));
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary.sql('SELECT pg_reload_conf()');
    service.during(4, async () => {
      await primary.stop('immediate');
      await standby.promote();
    });
    const { code, stderr } = await imports(hosts(primary, standby));
    expect(code, stderr).toBe(0);
    check();
    expect(service.ledger.arrivals).toHaveLength(REQUESTS);
  });

  test('fails over to a standby that lacks the last commits: it stops, and what they recorded is sent again', async () => {
    const primary = owned(await startPostgres());
    const standby = owned(await startStandby(primary));
    service.trouble = {
      submit: (request) => async (exchange) => {
        await exchange.accept();
        if (request === 3) await standby.deafen();
        if (request === 6) {
          await primary.stop('immediate');
          await standby.promote();
        }
        await exchange.acknowledge();
      },
    };
    const at = hosts(primary, standby);
    const ended = await imports(at);
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has lost what was recorded in it a moment ago, as after a failover'),
    });
    expect(service.ledger.arrivals, 'sent after that').toHaveLength(6);
    const lost = sessions.splice(0);
    expect(lost).toHaveLength(1);
    service.trouble = {};
    // As if its lease had run out.
    standby.sql(`UPDATE ${SCHEMA}.leases SET expires_at = now() - interval '1 day'`);
    const next = await imports(at, '--resume');
    expect(next.code, next.stderr).toBe(0);
    const accepted = service.ledger.timesAccepted;
    expect(accepted.size).toBe(ROWS);
    // Those of the third request were on record as intended, those of the fourth to sixth are on no record.
    expect([...accepted.values()].filter((times) => times === 2)).toHaveLength(20);
  });

  /** A file system of its own, which only root can make. */
  test.runIf(process.getuid?.() === 0)(
    'is on a full disk: exit 1, and it continues once there is room',
    async ({ skip }) => {
      const disk = mkdtempSync(join(tmpdir(), 'profiles-full-'));
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256m', 'tmpfs', disk], { stdio: 'pipe' });
      } catch (error) {
        rmSync(disk, { recursive: true });
        skip(`no file system can be mounted here: ${error}`);
      }
      onTestFinished(() => {
        execFileSync('umount', [disk]);
        rmSync(disk, { recursive: true });
      });
      const server = owned(await startPostgres(['min_wal_size = 32MB', 'max_wal_size = 32MB'], {}, disk));
      const ballast = join(disk, 'ballast');
      const fill = (): void => writeFileSync(ballast, Buffer.alloc(256 << 20));
      service.during(3, () => expect(fill).toThrow('ENOSPC'));
      // Too much to find room in the files that there are.
      const rows = 80_000;
      const { code, stderr } = await imports(server.url(SCHEMA), '', rows);
      expect(code, stderr).toBe(1);
      expect(stderr).toMatch(/No space left on device.*\n.*free disk space on the database server/);
      expect(service.ledger.arrivals.length).toBeLessThan(REQUESTS);
      service.trouble = {};
      rmSync(ballast);
      await server.stop('immediate');
      await server.start();
      const next = await imports(server.url(SCHEMA), '--resume', rows);
      expect(next.code, next.stderr).toBe(0);
      check(rows);
    },
  );
});
