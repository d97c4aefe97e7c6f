/** The intent of the next request is on disk before a connection is free (contract §4: intent before each request). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { elevenCompanies, Machine } from './support.js';

const file = elevenCompanies();
const IMPORT = ['import', file.path, '--chunk-size', '4', '--no-wait', '--concurrency', '2'];

let service: FaultServer;
let machine: Machine;
/** Answers the requests that are held. */
let answer: (() => Promise<void>)[];
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
  answer = [];
  const hold: Strike = async (exchange) => {
    await exchange.accept();
    await new Promise<void>((resolve) => answer.push(async () => resolve(exchange.acknowledge())));
  };
  service.trouble = { submit: () => hold };
});
afterEach(() => service.stop());

const arrived = (): number => service.ledger.arrivals.length;
const answerAll = (): Promise<unknown> => Promise.all(answer.splice(0).map((one) => one()));
const recorded = async (): Promise<string[]> => {
  const [latest] = await machine.runs();
  return latest === undefined ? [] : (await machine.requests(latest.run)).map(({ state }) => state);
};

test('while two requests are in flight, the third is recorded, and goes out when one has an answer', async () => {
  const importing = machine.run(IMPORT);
  await expect.poll(recorded).toEqual(['intent', 'intent', 'intent']);
  expect(arrived()).toBe(2);
  await answer.shift()!();
  await expect.poll(arrived).toBe(3);
  await expect.poll(() => answer.length).toBe(2);
  await answerAll();
  expect((await importing).code).toBe(0);
  expect(await recorded()).toEqual(['acknowledged', 'acknowledged', 'acknowledged']);
});

test('stopped before its turn, it is not sent, and a resume sends it once', async () => {
  const stop = new AbortController();
  const importing = machine.run(IMPORT, { stop: stop.signal });
  await expect.poll(recorded).toHaveLength(3);
  stop.abort('SIGINT');
  await expect.poll(() => answer.length).toBe(2);
  await answerAll();
  const { code, summary } = await importing;
  expect([code, summary!.rows.submitted, summary!.rows.unsent]).toEqual([130, 7, 4]);
  expect(await recorded()).toEqual(['acknowledged', 'acknowledged', 'withdrawn']);
  expect(arrived()).toBe(2);
  service.trouble = {};
  const resumed = await machine.run(['resume']);
  expect([resumed.code, resumed.summary!.maybe_sent_twice]).toEqual([0, []]);
  expect(arrived()).toBe(3);
});

test('a refusal that ends the run leaves it unsent', async () => {
  const refuse: Strike = async (exchange) => {
    await exchange.read();
    await new Promise<void>((resolve) => answer.push(async () => resolve(exchange.reply(400, '{}'))));
  };
  service.trouble = { submit: () => refuse };
  const importing = machine.run(IMPORT);
  await expect.poll(recorded).toHaveLength(3);
  await expect.poll(() => answer.length).toBe(2);
  await answerAll();
  const { code, summary } = await importing;
  expect([code, summary!.rows.submitted]).toEqual([6, 0]);
  expect(arrived()).toBe(2);
  expect((await recorded()).at(-1)).toBe('withdrawn');
});

test('a request that shares an identifier with one in flight is recorded after that one', async () => {
  machine.write(file.path, 'company_id,name\na,1\nb,1\na,2\n');
  const importing = machine.run([...IMPORT, '--chunk-size', '1']);
  await expect.poll(() => answer.length).toBe(2);
  await answer.pop()!();
  await expect.poll(recorded).toEqual(['intent', 'acknowledged']);
  await answer.pop()!();
  await expect.poll(arrived).toBe(3);
  await expect.poll(() => answer.length).toBe(1);
  await answerAll();
  expect((await importing).code).toBe(0);
  expect(service.ledger.arrivals.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['a']]);
});
