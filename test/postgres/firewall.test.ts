/** A machine whose database a firewall cuts off (contract §10 "Connection lost"): packets are dropped, and nobody is told. */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { built, type Child, profiles } from '../support/child.js';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { Machine } from '../support/workspace.js';
import { type Island, makeIsland, missingForIsland } from './island.js';
import { checkSessions, companiesOf, idsOf, type Session } from './sessions.js';
import { hasPostgres, newSchema, server } from './support.js';

const missing = missingForIsland();
const ROWS = 40;

describe.runIf(hasPostgres && missing === null)(
  `a database behind a firewall${missing ? ` (${missing})` : ''}`,
  () => {
    const { port, folder } = inject('postgres') ?? { port: 0, folder: '' };
    let service: FaultServer;
    let island: Island;
    let schema = '';
    let sessions: Session[] = [];
    beforeAll(async () => {
      built();
      service = await new FaultServer().start();
      const portOfService = Number(new URL(service.url).port);
      island = await makeIsland([port, portOfService], { [port]: join(folder, `.s.PGSQL.${port}`) });
    });
    afterAll(async () => {
      await island?.remove();
      await service?.stop();
    });
    beforeEach(() => {
      schema = newSchema();
      service.ledger.arrivals.length = 0;
      service.seen.submit = 0;
      sessions = [];
    });

    const argv = ['import', 'companies.csv', '--chunk-size', '5', '-o', 'interval=1ms', '--ndjson'];
    function machine(query = ''): Machine {
      const made = new Machine(service.url);
      made.env.PROFILES_STATE = server.url(schema, { query: `sslmode=disable&connect_timeout=2&${query}` });
      made.write('companies.csv', companiesOf(1, ROWS));
      return made;
    }
    /** On the island, and cut off while its third request is under way. */
    function importThere({ folder: cwd, env }: Machine, whileCut: () => Promise<void>): Child {
      service.trouble = {
        submit: (nth) =>
          nth === 3
            ? async (exchange) => {
                await exchange.accept();
                island.cut(port);
                await exchange.acknowledge();
                await whileCut().finally(() => island.heal());
              }
            : undefined,
      };
      return profiles(argv, { cwd, env, within: island.within });
    }
    const ended = async (child: Child): Promise<Awaited<Child['ended']>> => {
      const end = await child.ended;
      sessions.push({ ended: end, until: service.ledger.arrivals.length });
      return end;
    };
    const resumeElsewhere = async (): Promise<void> => {
      const { folder: cwd, env } = machine();
      const end = await cli([...argv, '--resume', '--wait-for-lock', '2m'], { cwd, env });
      sessions.push({ ended: end, until: service.ledger.arrivals.length });
      expect(end.code, end.stderr).toBe(0);
    };
    const check = (): void => checkSessions(sessions, service.ledger.arrivals, { file: 1, rows: ROWS });
    const retransmits = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 3_000));

    test('for some seconds: it continues', async () => {
      const { code, stderr } = await ended(importThere(machine(), retransmits));
      expect(code, stderr).toBe(0);
      expect(service.ledger.arrivals).toHaveLength(ROWS / 5);
      check();
    });

    test('until another machine has taken over: it sends nothing more, exit 8, and says who', async () => {
      let sent = 0;
      const child = importThere(machine('lease_seconds=8'), async () => {
        await resumeElsewhere();
        sent = service.ledger.arrivals.length;
      });
      expect(await ended(child)).toMatchObject({ code: 8, stderr: expect.stringContaining('took over') });
      expect(idsOf(service.ledger.arrivals.slice(sent))).toEqual([]);
      check();
    });

    test('for good: it stops after a while, exit 1, with the command that continues', async () => {
      let isOver = (): void => {};
      const over = new Promise<void>((resolve) => {
        isOver = resolve;
      });
      const end = await ended(importThere(machine('lease_seconds=120'), () => over));
      isOver();
      expect(end).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/profiles resume .*\n.*cannot record in/s),
      });
      expect(service.ledger.arrivals).toHaveLength(3);
      server.sql(`UPDATE ${schema}.leases SET expires_at = now() - interval '1 day'`);
      await resumeElsewhere();
      check();
    }, 600_000);
  },
);
