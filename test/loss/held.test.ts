/** What changed, counted, and held back where it is too much (contract §3 "Review before sending"). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Fate, FaultServer, type Strike } from '../support/fault-server.js';
import { fates, status } from './faults.js';
import { Machine } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

describe('identifiers that appear more than once', () => {
  /** Two rows of `a` in the second request, one in the first. */
  const thrice =
    'company_id,name,tier,seats\na,A,gold,1\nb,B,,\nc,C,,\nd,D,,\na,,silver,\na,,,5\ne,E,,\nf,F,,\n';
  const unchanged = async (): Promise<number> =>
    (await machine.run(['import', 'c.csv', '--changed-only', '--dry-run'])).summary!.rows.unchanged;

  test('in a request that was searched, of which a part was never sent: all rows of the identifier are sent again', async () => {
    machine.write('c.csv', thrice.replace('a,,,5\ne,E,,', 'e,E,,\na,,,5'));
    service.trouble = { submit: (n) => (n < 2 ? undefined : status(n < 4 ? 422 : 503)) };
    const flags = ['--chunk-size', '4', '-o', 'retries=0', '--on-failure', 'isolate'];
    const stopped = await machine.run(['import', 'c.csv', ...flags]);
    expect([stopped.code, service.ledger.timesAccepted.get('a')]).toEqual([6, 1]);
    expect(await unchanged()).toBe(3);
  });

  /** Stops after two requests of one row, and continues: `a` is in the first of them and in the last of four. */
  async function stopAndContinue(flags: string[], jobEnds: (job: number) => boolean): Promise<void> {
    const stop = new AbortController();
    const stopping: Strike = (exchange) => {
      stop.abort('SIGINT');
      return exchange.acknowledge();
    };
    machine.write('c.csv', 'company_id,name,tier\na,A,gold\nb,B,\nc,C,\na,,silver\n');
    service.trouble = { submit: (n) => (n === 2 ? stopping : undefined), fate: () => fates.stuck };
    const options = ['--chunk-size', '1', '-o', 'interval=5ms'];
    const stopped = await machine.run(['import', 'c.csv', ...options, ...flags], { stop: stop.signal });
    expect([stopped.code, stopped.summary!.rows.submitted]).toEqual([130, 2]);
    const completed: Fate = (job) => ({ ...job, status: 'completed', completed_rows: job.total_rows });
    service.trouble = { fate: (n) => (job, polls) => (jobEnds(n) ? completed : fates.stuck)(job, polls) };
    const { code, summary } = await machine.run(['resume']);
    expect([code, summary!.rows.submitted]).toEqual([0, 4]);
    service.trouble = {};
    await machine.run(['jobs', '--refresh']);
  }

  test('a run that was continued while a job of it was unfinished: an unchanged file sends nothing', async () => {
    await stopAndContinue(['--concurrency', '2'], (job) => job > 1 || service.seen.submit > 2);
    expect(await unchanged()).toBe(4);
    machine.write('c.csv', 'company_id,name,tier\na,NEW,gold\nb,B,\nc,C,\na,,silver\n');
    expect(await unchanged()).toBe(2);
  });

  test('a run that was continued, and whose two jobs of an identifier overlapped: it is sent again', async () => {
    await stopAndContinue(['--no-wait', '--concurrency', '1'], () => false);
    expect(await unchanged()).toBe(2);
  });
});
