/** A broken intermediary between an import and its service: what the service refused is not taken for acknowledged. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Exchange, FaultServer, type Strike } from '../support/fault-server.js';
import { balance, elevenCompanies, Machine } from './support.js';

const file = elevenCompanies();
const SEND = ['import', file.path, '--chunk-size', '4'];
let service: FaultServer;
let machine: Machine;

beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
});
afterEach(() => service.stop());

const bytes = (status: number, body: string, headers: string[] = []): string =>
  [`HTTP/1.1 ${status} X`, ...headers, `Content-Length: ${body.length}`, '', body].join('\r\n');

/** Accepts, and gives the reply as bytes, to be sent again. */
async function acknowledge(exchange: Exchange, headers: string[]): Promise<string> {
  const reply = bytes(202, JSON.stringify(await exchange.accept()), headers);
  exchange.raw(reply);
  return reply;
}

test.each([
  ['with a request id', ['x-request-id: r-1']],
  ['without one', []],
])('the first reply comes again for the second request, which is refused: %s', async (_, headers) => {
  let first = '';
  const strikes: Record<number, Strike> = {
    1: async (exchange) => {
      first = await acknowledge(exchange, headers);
    },
    2: async (exchange) => {
      await exchange.read();
      exchange.raw(first + bytes(500, '{}'));
    },
  };
  service.trouble = { submit: (nth) => strikes[nth] };
  const { code, summary, stderr } = await machine.run([...SEND, '--no-wait']);
  expect([code, summary!.rows.submitted], stderr).toEqual([0, 11]);
  expect(service.ledger.profiles.companies.size).toBe(11);
  expect(new Set(summary!.jobs.map(({ job_id }) => job_id)).size).toBe(3);
  expect(summary!.maybe_sent_twice).toMatchObject([
    {
      first_line: 6,
      last_line: 9,
      reason: expect.stringContaining('answered with its reply to an earlier request (job job-1'),
    },
  ]);
  expect(summary!.warnings).toEqual([expect.stringContaining('1 of 12 rows repeats an earlier company_id')]);
  await balance(summary!, machine, service, file);
});

test.each([
  ['new request ids', (nth: number): Record<string, string> => ({ 'x-request-id': `r-${nth}` }), 0],
  ['none, so that all its replies are alike', () => ({}), 1],
])('a mock that names one job for all: %s', async (_, headers, resent) => {
  const job = { job_id: 'job-1', status: 'queued', total_rows: 4, completed_rows: 0 };
  service.addJob(4);
  service.trouble = {
    submit: (nth) => async (exchange) => {
      await exchange.accept();
      exchange.reply(202, JSON.stringify(job), headers(nth));
    },
  };
  const { code, summary, stderr } = await machine.run(SEND);
  expect([code, summary!.status, summary!.rows.submitted], stderr).toEqual([0, 'completed', 11]);
  expect(summary!.warnings).toEqual([
    expect.stringContaining('1 of 12 rows repeats an earlier company_id'),
    expect.stringContaining('gave the job id job-1 to more than one'),
  ]);
  expect(summary!.maybe_sent_twice).toHaveLength(resent);
});

test('an unsolicited 100 Continue before every reply costs no retry', async () => {
  const strike: Strike = async (exchange) => {
    await exchange.accept();
    exchange.raw('HTTP/1.1 100 Continue\r\n\r\n');
    await exchange.acknowledge();
  };
  service.trouble = { submit: () => strike };
  const { code, summary, stderr } = await machine.run(SEND);
  expect([code, summary!.retries, summary!.maybe_sent_twice], stderr).toEqual([0, 0, []]);
});

test.each([
  ['no job', '{"status":"queued"}'],
  ['a job that cannot be asked for', '{"status":"queued","job_id":".."}'],
  ['a job by half of a surrogate pair', '{"status":"queued","job_id":"j\\ud800"}'],
])('a reply that names %s is not summed up as a rejection', async (_, body) => {
  service.trouble = {
    submit: () => async (exchange) => {
      await exchange.accept();
      exchange.confirm();
      exchange.reply(202, body);
    },
  };
  const { code, summary, error, stderr } = await machine.run(SEND);
  expect([code, summary!.status, summary!.rows.rejected], stderr).toEqual([5, 'partial', 0]);
  expect(error!.message).toBe('some rows were accepted, but the reply names no job to follow');
  // Nothing waits for such a job.
  service.trouble = {};
  const again = await machine.run(SEND);
  expect([again.code, again.summary!.rows.completed], again.stderr).toEqual([0, 11]);
});

const deep = (status: number) => async (exchange: Exchange) => {
  const links = '['.repeat(100_000) + ']'.repeat(100_000);
  if (status === 202) await exchange.accept();
  else await exchange.read();
  exchange.reply(status, `{"job_id":"j${exchange.nth}","status":"queued","links":${links}}`);
};

test.each([400, 500])('%i with JSON that nests too deeply is one sentence', async (status) => {
  service.trouble = { submit: () => deep(status) };
  const { code, summary, error, stderr } = await machine.run([...SEND, '-o', 'retries=0']);
  expect([code, summary!.rows.submitted], stderr).toEqual([6, 0]);
  expect(error!.message).toContain(`${status} `);
  service.trouble = {};
  const again = await machine.run(['resume']);
  expect([again.code, again.summary!.rows.completed], again.stderr).toEqual([0, 11]);
});

test('202 with JSON that nests too deeply beside the job id: the job counts, and nothing is sent again', async () => {
  service.trouble = { submit: () => deep(202) };
  const { code, summary, stderr } = await machine.run([...SEND, '--no-wait']);
  expect([code, summary!.rows.submitted, summary!.jobs[0]!.job_id], stderr).toEqual([0, 11, 'j1']);
  expect(service.ledger.arrivals).toHaveLength(summary!.requests);
});

test('a status that is none of HTTP is one sentence', async () => {
  service.trouble = {
    submit: () => async (exchange) => {
      await exchange.read();
      exchange.raw('HTTP/1.1 000 X\r\nContent-Length: 2\r\n\r\n{}');
    },
  };
  const { code, error, stderr } = await machine.run([...SEND, '-o', 'retries=0']);
  expect(code, stderr).toBe(6);
  expect(error!.message).toMatch(
    /^127\.0\.0\.1:\d+ sent a response that is not HTTP: its status line is malformed$/,
  );
});
