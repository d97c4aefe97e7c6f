/**
 * A process that stands still until another one has taken over its work (contract §10 "Lock"), at each point between the
 * record of a request and its first byte at which time may pass: it sends nothing more, and says who took over.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { Turns } from '../../src/engine/state/database.js';
import { built, canStandStill, pointsOf, standingStill } from '../support/child.js';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { Machine } from '../support/workspace.js';
import { checkSessions, companiesOf, idsOf } from './sessions.js';
import { hasPostgres, newSchema, server } from './support.js';

const ROWS = 20;
/** Who takes over waits for one and a half of it. */
const LEASE_SECONDS = 8;
/** As many stand still at the same time: nearly all of a case is waiting. */
const AT_ONCE = 24;
/** They start one after another: a lease may run out where many wait for a processor. */
const starting = new Turns();
const WAYS = [[], ['--concurrency', '2'], ['--no-wait']] as const;

describe.runIf(hasPostgres && canStandStill)('a process that stands still', () => {
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
    const argv = ['import', 'companies.csv', '--chunk-size', '5', '-o', 'interval=1ms', '--ndjson', ...more];
    const child = await starting.take(() =>
      standingStill(argv, { nth: 2, point }, { cwd: first.folder, env: first.env }),
    );
    try {
      const { arrivals } = service.ledger;
      if (!child.stands) {
        const ended = await child.ended;
        // A lease as short as this one may run out on a busy machine.
        if (ended.code === 8 && turn < 5) return await pausedAt(point, more, turn + 1);
        expect(ended, ended.stderr).toMatchObject({ code: 0 });
        return child.points();
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
      server.drop(schema);
    }
  }

  test('sends nothing more, and says who took over', { timeout: 1_200_000 }, async () => {
    const cases: { more: readonly string[]; point: number }[] = [];
    for (const more of WAYS) {
      const points = await pausedAt(Number.POSITIVE_INFINITY, more);
      expect(points).toBeGreaterThan(10);
      cases.push(...pointsOf(points!).map((point) => ({ more, point })));
    }
    const failed: string[] = [];
    const stood = new Set<readonly string[]>();
    const all = cases.values();
    const worker = async (): Promise<void> => {
      for (const { more, point } of all) {
        await pausedAt(point, more).then(
          (ended) => {
            if (ended === null) stood.add(more);
          },
          (error: Error) => failed.push(`${more.join(' ')} at point ${point}: ${error.message}`),
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(failed).toEqual([]);
    expect(stood.size).toBe(WAYS.length);
  });
});
