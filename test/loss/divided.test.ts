/** What became of the parts of a divided request is recorded like that of any other one. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { FAULTS, fates, status } from './faults.js';
import { Machine, type Outcome } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

const run = (...argv: string[]): Promise<Outcome> => machine.run(argv);
const write = (path: string, ids: string): void =>
  machine.write(path, `user_id,name\n${[...ids].map((id) => `${id},1\n`).join('')}`);
const sent = (): string[] => service.ledger.arrivals.map(({ ids }) => ids.join(''));

/** 413 for more than two rows. */
const atMostTwo: Strike = async (exchange) => {
  const { ids } = await exchange.read();
  await (ids.length > 2 ? status(413)(exchange) : exchange.acknowledge());
};

test('a reply is lost, then the request is too large: its parts complete, and nothing is left to do', async () => {
  write('u.csv', 'abcd');
  const lost = FAULTS['reset after acceptance'];
  service.trouble = { submit: (nth) => (nth === 1 ? lost : nth === 2 ? status(413) : undefined) };
  const { code, summary, stderr } = await run('import', 'u.csv');
  expect(sent()).toEqual(['abcd', 'abcd', 'ab', 'cd']);
  expect([code, summary!.rows], stderr).toMatchObject([0, { submitted: 4, completed: 4 }]);
  expect((await run('resume')).stderr).toContain('no unfinished import');
  expect((await run('import', 'u.csv', '--changed-only')).summary!.rows).toMatchObject({ unchanged: 4 });
});

test('searches in several parts of one request end, if everything fails', async () => {
  write('u.csv', 'abcdefgh');
  service.trouble = { submit: () => atMostTwo, fate: () => fates.failed };
  const { code, summary, stderr } = await run('import', 'u.csv', '--on-failure', 'isolate');
  expect([code, summary!.rows], stderr).toMatchObject([7, { rejected: 4, submitted: 4 }]);
  expect(stderr).toContain('did not look for the rows at fault');
});

test('a planned request of which few rows are left is sent, not divided until nothing is left', async () => {
  write('u.csv', 'ab');
  await run('import', 'u.csv', '--save-plan', 'p.json');
  await run('identify', 'user', 'a', '--set', 'name=newer');
  const { code, summary, stderr } = await run('apply', 'p.json', '--canary', '1');
  expect([code, summary!.rows], stderr).toMatchObject([5, { submitted: 1, unsent: 1, rejected: 0 }]);
});

test('one job for two requests ends both, so that nothing is left to follow', async () => {
  write('u.csv', 'ab');
  let first: Awaited<ReturnType<Parameters<Strike>[0]['accept']>> | undefined;
  const sameJob: Strike = async (exchange) => {
    const job = await exchange.accept();
    first ??= job;
    exchange.confirm();
    exchange.reply(202, JSON.stringify(first));
  };
  service.trouble = { submit: () => sameJob };
  await run('import', 'u.csv', '--chunk-size', '1', '--no-wait');
  const { summary, stderr } = await run('resume', '--on-failure', 'isolate');
  expect(summary!.rows, stderr).toMatchObject({ submitted: 2 });
  expect((await run('resume')).stderr).toContain('no unfinished import');
});
