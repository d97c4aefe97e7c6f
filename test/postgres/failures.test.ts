/**
 * Two machines that share a state, one of which fails, or the database does, at a random instant (contract §10): whoever
 * goes on, no row is lost, and what was acknowledged is not sent again. `EVENTS` says how often, `LOSS_SEED` when.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rangesIn, type Summary } from '../../src/engine/model.js';
import { covers, Machine, seeded } from '../loss/support.js';
import { built, type Child, type Ended, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import type { Arrival } from '../support/ledger.js';
import { startPooler, startPostgres, type TestPooler, type TestPostgres } from '../support/postgres.js';
import { type Cutter, cutter } from './cutter.js';
import { hasPostgres, newSchema } from './support.js';

/** None unless they are asked for: each takes some seconds, and a lease this short may run out on a busy machine. */
const EVENTS = Number(process.env.EVENTS ?? 0);
const SEED = Number(process.env.LOSS_SEED ?? randomInt(1_000_000));
const ROWS = 60;
/** Of a lease. Everything about it is measured by this. */
const LEASE = 'lease_seconds=2';

const TROUBLES = ['killed', 'paused', 'database crashes', 'cut off', 'terminated'] as const;
const WAYS = ['directly', 'through PgBouncer'] as const;

describe.runIf(hasPostgres && EVENTS > 0)('machines that share a state', () => {
  let server: TestPostgres;
  let pooler: TestPooler;
  let proxy: Cutter;
  let service: FaultServer;
  const random = seeded(SEED);

  beforeAll(async () => {
    await built();
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
      ? server
          .url(schema, { query: `sslmode=disable&${LEASE}` })
          .replace(`:${server.port}/`, `:${proxy.port}/`)
      : `${pooler.url(schema)}&${LEASE}`;

  const events = Array.from({ length: Math.max(EVENTS, 1) }, (_, n) => ({
    n,
    trouble: TROUBLES[n % TROUBLES.length]!,
    way: WAYS[Math.floor(n / TROUBLES.length) % WAYS.length]!,
  }));

  test.for(events)(`$n: $trouble, $way, seed ${SEED}`, { timeout: 180_000 }, async ({ n, trouble, way }) => {
    const rows = Array.from({ length: ROWS }, (_, i) => `m${n}-${i},Company ${i}\n`);
    const machines = [new Machine(service.url), new Machine(service.url)] as const;
    const schema = newSchema();
    const url = urlOf(way, schema);
    for (const machine of machines) {
      machine.write('companies.csv', `company_id,name\n${rows.join('')}`);
      machine.env.PROFILES_STATE = url;
    }
    const [first, second] = machines;
    const { arrivals } = service.ledger;
    const from = arrivals.length;
    const start = (machine: Machine, more: readonly string[] = []): Child => {
      const sizes = ['--chunk-size', '5', '--interval', '1ms', '--concurrency', random() < 0.5 ? '1' : '3'];
      const argv = ['import', 'companies.csv', ...sizes, '--ndjson', ...more];
      return profiles(argv, { cwd: machine.folder, env: machine.env });
    };
    const goOn = (): Child => start(second, ['--resume', '--wait-for-lock', '2m']);

    const child = start(first);
    await expect.poll(() => arrivals.length > from || child.process.exitCode !== null).toBe(true);
    await wait(random() * 300);
    const sessions: { ended: Ended; until: number }[] = [];
    const ends = async (one: Child): Promise<Ended> => {
      const ended = await one.ended;
      sessions.push({ ended, until: arrivals.length });
      return ended;
    };

    /** What came too late found nothing to go on with: the files would be imported once more, as a run of its own. */
    const isFinished = (): boolean =>
      server.sql(`SELECT coalesce(max(finished), 0) FROM ${schema}.runs`) === '1';
    /** A lease as short as this one may run out on a busy machine. */
    const goOnToTheEnd = async (): Promise<Ended> => {
      let ended = await ends(goOn());
      for (let turns = 1; ended.code === 8 && turns < 5; turns++) ended = await ends(goOn());
      return ended;
    };

    if (trouble === 'paused') {
      child.kill('SIGSTOP');
      if (isFinished()) {
        child.kill('SIGCONT');
        expect(await child.ended).toMatchObject({ code: 0 });
        return;
      }
      const successor = await goOnToTheEnd();
      const sent = arrivals.length;
      child.kill('SIGCONT');
      const paused = await ends(child);
      expect(successor, successor.stderr).toMatchObject({ code: 0 });
      // It may have been about to end.
      if (paused.code !== 0) expect(paused, paused.stderr).toMatchObject({ code: 8 });
      if (paused.code !== 0) expect(paused.stderr).toContain('took over');
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
      // A lease as short as this one may run out while the database is away.
      const expected = {
        killed: [null, 0],
        terminated: [143, 0],
        'cut off': [0, 8],
        'database crashes': [0, 8],
      };
      expect(expected[trouble], ended.stderr).toContain(ended.code);
      if (ended.code !== 0 && !isFinished()) {
        const successor = await goOnToTheEnd();
        expect(successor, successor.stderr).toMatchObject({ code: 0 });
      }
    }

    const mine = arrivals.slice(from);
    expect(new Set(idsOf(mine.filter(({ accepted }) => accepted))).size, 'rows that arrived').toBe(ROWS);
    const named = sessions.flatMap(({ ended }) => summaryOf(ended)?.maybe_sent_twice.flatMap(rangesIn) ?? []);
    for (const [id, times] of timesOf(mine)) {
      const line = Number(id.split('-').at(-1)) + 2;
      if (times > 1)
        expect(
          named.some((range) => covers(range, line)),
          `line ${line} arrived twice`,
        ).toBe(true);
    }
    for (const { ended, until } of sessions) {
      const later = new Set(idsOf(arrivals.slice(until)));
      for (const { first_line, last_line } of submittedIn(ended)) {
        for (let line = first_line; line <= last_line; line++) {
          expect(
            later.has(`m${n}-${line - 2}`),
            `line ${line} was reported as submitted, and sent again`,
          ).toBe(false);
        }
      }
    }
  });
});

const idsOf = (arrivals: readonly Arrival[]): string[] => arrivals.flatMap(({ ids }) => ids);

function timesOf(arrivals: readonly Arrival[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const id of idsOf(arrivals)) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}

type Told = { type: string; first_line: number; last_line: number; summary?: Summary };

/** Whole lines: one that was killed may have left half of one. */
const told = ({ stdout }: Ended): Told[] =>
  stdout
    .slice(0, stdout.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Told]));
const submittedIn = (ended: Ended): Told[] => told(ended).filter(({ type }) => type === 'submitted');
const summaryOf = (ended: Ended): Summary | undefined => {
  const last = told(ended).find(({ type }) => type === 'summary');
  return last && (last.summary ?? (last as unknown as Summary));
};
