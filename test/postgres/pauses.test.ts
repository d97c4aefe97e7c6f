/**
 * A process that stands still until another one has taken over its work (contract §10 "Lock"), at each point between the
 * record of a request and its first byte at which time may pass: it sends nothing more, and says who took over.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { Machine } from '../loss/support.js';
import { BIN, built, type Child, node } from '../support/child.js';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { checkSessions, companiesOf, idsOf } from './sessions.js';
import { hasPostgres, newSchema, server } from './support.js';

const HOOK = resolve(import.meta.dirname, '../loss/stop-at-await.mjs');
const ROWS = 20;
/** Who takes over waits for one and a half of it. */
const LEASE_SECONDS = 5;
/** As many stand still at the same time: most of a case is waiting. */
const AT_ONCE = 6;
/** All points (`PAUSES=all`), or one of so many. */
const STEP = process.env.PAUSES === 'all' ? 1 : 12;

const isStopped = ({ process: { pid } }: Child): boolean =>
  /^\d+ \(.*\) T/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe.runIf(hasPostgres && process.platform === 'linux')('a process that stands still', () => {
  beforeAll(built);

  /** Before its third request. @returns at how many points it could have been, or null: it was at this one */
  async function pausedAt(point: number, more: readonly string[], turn = 1): Promise<number | null> {
    const service = await new FaultServer().start();
    const [first, second] = [new Machine(service.url), new Machine(service.url)] as const;
    const schema = newSchema();
    first.env.PROFILES_STATE = server.url(schema, {
      query: `sslmode=disable&lease_seconds=${LEASE_SECONDS}`,
    });
    second.env.PROFILES_STATE = server.url(schema);
    for (const machine of [first, second]) machine.write('companies.csv', companiesOf(1, ROWS));
    const argv = ['import', 'companies.csv', '--chunk-size', '5', '--interval', '1ms', '--ndjson', ...more];
    const count = join(first.folder, 'count');
    const child = node(['--import', HOOK, BIN, ...argv], {
      cwd: first.folder,
      env: { ...first.env, STOP_AT: `2:${point}`, STOP_COUNT: count },
    });
    try {
      const { arrivals } = service.ledger;
      await expect
        .poll(() => child.process.exitCode !== null || isStopped(child), { timeout: 60_000 })
        .toBe(true);
      if (child.process.exitCode !== null) {
        const ended = await child.ended;
        // A lease as short as this one may run out on a busy machine.
        if (ended.code === 8 && turn < 5) return await pausedAt(point, more, turn + 1);
        expect(ended, ended.stderr).toMatchObject({ code: 0 });
        return Number(readFileSync(count, 'utf8'));
      }
      const successor = await cli([...argv, '--resume', '--wait-for-lock', '1m'], {
        cwd: second.folder,
        env: second.env,
      });
      expect(successor, successor.stderr).toMatchObject({ code: 0 });
      const sent = arrivals.length;
      child.kill('SIGCONT');
      const paused = await child.ended;
      expect(paused, paused.stderr).toMatchObject({ code: 8, stderr: expect.stringContaining('took over') });
      expect(idsOf(arrivals.slice(sent)), 'sent after another process took over').toEqual([]);
      const sessions = [
        { ended: successor, until: sent },
        { ended: paused, until: arrivals.length },
      ];
      checkSessions(sessions, arrivals, { file: 1, rows: ROWS });
      return null;
    } finally {
      child.kill('SIGKILL');
      await service.stop();
      server.sql(`SET client_min_messages = error; DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    }
  }

  test.for([
    ['one request at a time', []],
    ['several requests in flight', ['--concurrency', '2']],
    ['not waiting for jobs', ['--no-wait']],
  ] as const)('%s: sends nothing more, and says who took over', { timeout: 1_200_000 }, async ([, more]) => {
    const points = await pausedAt(Number.POSITIVE_INFINITY, more);
    expect(points).toBeGreaterThan(10);
    const failed: string[] = [];
    const all = Array.from({ length: Math.ceil(points! / STEP) }, (_, index) => 1 + index * STEP).values();
    const worker = async (): Promise<void> => {
      for (const point of all) {
        await pausedAt(point, more).catch((error: Error) =>
          failed.push(`${point} of ${points}: ${error.message}`),
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(failed).toEqual([]);
  });
});
