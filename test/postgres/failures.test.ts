/**
 * Two machines that share a state, one of which fails, or the database does, at a random instant (contract §10): whoever
 * goes on, no row is lost, and what was acknowledged is not sent again. `EVENTS` says how often, `LOSS_SEED` when.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seeded } from '../loss/support.js';
import { built, type Child, type Ended } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { startPooler, startPostgres, type TestPooler, type TestPostgres } from '../support/postgres.js';
import { Machine } from '../support/workspace.js';
import { type Cutter, cutter } from './cutter.js';
import { checkSessions, companiesOf, idsOf, type Session } from './sessions.js';
import { hasPostgres, newSchema } from './support.js';

/** Each takes some seconds. */
const EVENTS = Number(process.env.EVENTS ?? 20);
const SEED = Number(process.env.LOSS_SEED ?? 1);
const ROWS = 60;
/** Of the lease of the machine that fails. Everything about it is measured by this. */
const LEASE = 'lease_seconds=3';
/** A lease as short as this one may also run out on a busy machine. */
const LOST = /the lock on .* was not renewed|took over the lock/;
/** Connections that the database is doing something for. */
const BUSY = `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()`;

const TROUBLES = ['killed', 'paused', 'database crashes', 'cut off', 'terminated'] as const;
const WAYS = ['directly', 'through PgBouncer'] as const;

describe.runIf(hasPostgres)('machines that share a state', () => {
  let server: TestPostgres;
  let pooler: TestPooler;
  let proxy: Cutter;
  let service: FaultServer;
  const random = seeded(SEED);

  beforeAll(async () => {
    built();
    server = await startPostgres();
    pooler = await startPooler(server);
    proxy = await cutter(server.port);
    service = await new FaultServer().start();
    service.trouble = {
      submit: () => async (exchange) => {
        await wait(random() * 30);
        const job = await exchange.accept();
        await wait(random() * 30);
        exchange.reply(202, JSON.stringify(job));
      },
    };
  });
  afterAll(async () => {
    await service?.stop();
    await proxy?.close();
    await pooler?.stop();
    await server?.remove();
  });

  const urlOf = (way: (typeof WAYS)[number], schema: string): string =>
    way === 'directly'
      ? server.url(schema, { query: 'sslmode=disable' }).replace(`:${server.port}/`, `:${proxy.port}/`)
      : pooler.url(schema);

  const events = Array.from({ length: EVENTS }, (_, n) => ({
    n,
    trouble: TROUBLES[n % TROUBLES.length]!,
    way: WAYS[Math.floor(n / TROUBLES.length) % WAYS.length]!,
  }));

  test.for(events)(`$n: $trouble, $way, seed ${SEED}`, { timeout: 600_000 }, async ({ n, trouble, way }) => {
    const machines = [new Machine(service.url), new Machine(service.url)] as const;
    const schema = newSchema();
    for (const machine of machines) machine.write('companies.csv', companiesOf(n, ROWS));
    const [first, second] = machines;
    first.env.PROFILES_STATE = `${urlOf(way, schema)}&${LEASE}`;
    second.env.PROFILES_STATE = urlOf(way, schema);
    const { arrivals } = service.ledger;
    const from = arrivals.length;
    const start = (machine: Machine, more: readonly string[] = []): Child => {
      const sizes = ['--chunk-size', '5', '-o', 'interval=1ms', '--concurrency', random() < 0.5 ? '1' : '3'];
      return machine.start(['import', 'companies.csv', ...sizes, '--ndjson', ...more]);
    };
    const goOn = (): Child => start(second, ['--resume', '--wait-for-lock', '2m']);

    const child = start(first);
    await expect.poll(() => arrivals.length > from || child.process.exitCode !== null).toBe(true);
    await wait(random() * 300);
    const sessions: Session[] = [];
    const ends = async (one: Child): Promise<Ended> => {
      const ended = await one.ended;
      sessions.push({ ended, until: arrivals.length });
      return ended;
    };

    /** What came too late found nothing to go on with: the files would be imported once more, as a run of its own. */
    const isFinished = async (): Promise<boolean> => {
      // The last commit of what stopped may still be on its way.
      await wait(200);
      await expect.poll(() => server.sql(BUSY)).toBe('0');
      return server.sql(`SELECT coalesce(max(finished), 0) FROM ${schema}.runs`) === '1';
    };
    if (trouble === 'paused' && child.process.exitCode === null) {
      child.kill('SIGSTOP');
      if (await isFinished()) {
        child.kill('SIGCONT');
        expect(await child.ended).toMatchObject({ code: 0 });
        return;
      }
      const successor = await ends(goOn());
      const sent = arrivals.length;
      child.kill('SIGCONT');
      const paused = await ends(child);
      expect(successor, successor.stderr).toMatchObject({ code: 0 });
      // It may have been about to end.
      if (paused.code !== 0) expect(paused, paused.stderr).toMatchObject({ code: 8 });
      if (paused.code !== 0) expect(paused.stderr).toMatch(LOST);
      expect(idsOf(arrivals.slice(sent)), 'sent after another machine took over').toEqual([]);
    } else {
      if (trouble === 'killed') child.kill('SIGKILL');
      if (trouble === 'terminated') child.kill('SIGTERM');
      if (trouble === 'cut off') proxy.cut();
      if (trouble === 'database crashes') {
        await server.stop('immediate');
        await wait(random() * 500);
        await server.start();
      }
      const ended = await ends(child);
      const code = { killed: null, terminated: 143, 'cut off': 0, 'database crashes': 0, paused: 0 }[trouble];
      // A signal that comes while Node ends meets no handler any more.
      if (trouble === 'terminated' && ended.code === null) expect(await isFinished()).toBe(true);
      else expect([code, 0, 8], ended.stderr).toContain(ended.code);
      if (ended.code === 8) expect(ended.stderr).toMatch(LOST);
      if (ended.code !== 0 && !(await isFinished())) {
        if (way === 'through PgBouncer') await expect.poll(() => pooler.isReady()).toBe(true);
        const successor = await ends(goOn());
        expect(successor, successor.stderr).toMatchObject({ code: 0 });
      }
    }

    checkSessions(sessions, arrivals, { file: n, rows: ROWS, from });
  });
});
