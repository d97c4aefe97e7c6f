/** The built command, killed right after its commits while it looks for a row at fault: `resume` ends the search. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { crashAt, Machine, resumeToTheEnd } from './support.js';

/** More than the import has. */
const ENOUGH = 70;

beforeAll(built);

test('killed right after every third commit', { timeout: 600_000 }, async ({ onTestFinished }) => {
  for (let nth = 8; nth <= ENOUGH; nth += 3) {
    const service = await new FaultServer().start();
    onTestFinished(() => service.stop());
    const failing = new Set<number>();
    service.trouble = {
      submit: () => async (exchange) => {
        const { ids } = await exchange.read();
        if (ids.includes('bad')) failing.add(service.ledger.arrivals.filter((a) => a.accepted).length + 1);
        await exchange.acknowledge();
      },
      fate: (job) => (record) =>
        failing.has(job)
          ? { ...record, status: 'failed' }
          : { ...record, status: 'completed', completed_rows: record.total_rows },
    };
    const machine = new Machine(service.url);
    machine.write('companies.csv', 'company_id,name\na,1\nb,2\nc,3\nd,4\nbad,5\ne,6\nf,7\n');
    const flags = [
      '--chunk-size',
      '3',
      '--on-failure',
      'isolate',
      '-o',
      'interval=1ms',
      '-o',
      'retry_delay=1ms',
    ];
    const env = { ...machine.env, ...crashAt(`after:${nth}`) };
    const killed = await profiles(['import', 'companies.csv', ...flags], { cwd: machine.folder, env }).ended;
    const where = `commit ${nth}`;
    expect(killed, where).toMatchObject(killed.signal ? { signal: 'SIGKILL' } : { code: 5 });
    const [run] = await machine.runs();
    const first = run!.resume
      ? await machine.run(['resume'])
      : { code: 5, summary: run!.summary, error: null, stderr: '' };
    const { code, summary, stderr } = await resumeToTheEnd(machine, first);
    expect(code, `${where}\n${stderr}`).toBe(5);
    expect(summary!.rows, where).toMatchObject({ read: 7, rejected: 1, submitted: 6, completed: 6 });
    const lines = readFileSync(join(machine.folder, 'companies.rejects.csv'), 'utf8').trimEnd().split('\r\n');
    expect(new Set(lines.slice(1).map((line) => line.split(',')[0])), where).toEqual(new Set(['bad']));
    await service.stop();
    if (killed.signal === null) {
      expect(nth).toBeGreaterThan(20);
      return;
    }
  }
  expect.unreachable(`more than ${ENOUGH} commits`);
});
