/** What is reported as submitted is on disk: a process that is killed with its next step does not send it again. */
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { crashAt, elevenCompanies, Machine } from './support.js';

const file = elevenCompanies();

beforeAll(built);

test.each([
  ['jobs are followed', []],
  ['--no-wait', ['--no-wait']],
])('killed right before any commit: %s', { timeout: 600_000 }, async (_, flags) => {
  let announced = 0;
  for (let nth = 1; ; nth++) {
    const service = await new FaultServer().start();
    onTestFinished(() => service.stop());
    const machine = new Machine(service.url);
    machine.write(file.path, file.text);
    const env = { ...machine.env, ...crashAt(`before:${nth}`) };
    const argv = ['import', file.path, '--chunk-size', '4', '-o', 'interval=1ms', '--ndjson', ...flags];
    const killed = await profiles(argv, { cwd: machine.folder, env }).ended;
    const before = service.ledger.arrivals.length;
    const events = killed.stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    const told = events.filter(({ type }) => type === 'submitted');
    announced += told.length;

    const [run] = await machine.runs();
    if (run?.resume) expect((await machine.run(['resume'])).code).toBe(0);
    const again = service.ledger.arrivals.slice(before).flatMap(({ ids }) => ids);
    for (const { first_line, last_line } of told) {
      const ids = [...file.ids].filter(([line]) => first_line <= line && line <= last_line);
      for (const [line, id] of ids) {
        expect(again, `line ${line} was submitted, before commit ${nth}`).not.toContain(id);
      }
    }
    await service.stop();
    if (killed.signal === null) break;
    expect(nth).toBeLessThan(60);
  }
  expect(announced).toBeGreaterThan(3);
});
