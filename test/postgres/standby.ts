/** A standby that follows a server, and can take its place. */
import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort, give, run, serve, type TestPostgres } from '../support/postgres.js';

export interface Standby extends TestPostgres {
  /** It receives nothing more. */
  deafen(): Promise<void>;
  /** From now on it can be written to. */
  promote(): Promise<void>;
}

/** @param primary nothing is written to it but what the standby has, once this resolves */
export async function startStandby(primary: TestPostgres): Promise<Standby> {
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
