/** Broken replies between an import and its service: what was refused is not taken for acknowledged, nor the other way. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { JOB } from '../engine/service/support/client.js';
import { COMPLETED, type Exchange, type Strike } from '../support/fault-server.js';
import { http, listen } from '../support/servers.js';
import { workspace } from '../support/workspace.js';
import { fates } from './faults.js';
import { balance, elevenCompanies } from './support.js';

const file = elevenCompanies();
const SEND = `import ${file.path} --chunk-size 4`;
const { service, machine, run } = workspace({ [file.path]: file.text });

const bytes = (status: number, body: string, headers: string[] = []): string =>
  [`HTTP/1.1 ${status} X`, ...headers, `Content-Length: ${body.length}`, '', body].join('\r\n');

test.each([
  ['with a request id', ['x-request-id: r-1']],
  ['without one', []],
])('the first reply comes again for the second request, which is refused: %s', async (_, headers) => {
  let first = '';
  const strikes: Record<number, Strike> = {
    1: async (exchange) => {
      first = bytes(202, JSON.stringify(await exchange.accept()), headers);
      exchange.raw(first);
    },
    2: async (exchange) => {
      await exchange.read();
      exchange.raw(first + bytes(500, '{}'));
    },
  };
  service.trouble = { submit: (nth) => strikes[nth] };
  const { code, summary, stderr } = await run(`${SEND} --no-wait`);
  expect([code, summary!.rows.submitted], stderr).toEqual([0, 11]);
  expect(service.ledger.profiles.companies.size).toBe(11);
  expect(new Set(summary!.jobs.map(({ job_id }) => job_id)).size).toBe(3);
  const reason = expect.stringContaining('answered with its reply to an earlier request (job job-1');
  expect(summary!.maybe_sent_twice).toMatchObject([{ first_line: 6, last_line: 9, reason }]);
  await balance(summary!, machine, service, file);
});

/** Accepts, and replies with this job. */
const naming =
  (job: object, headers: (nth: number) => Record<string, string> = () => ({})): Strike =>
  async (exchange) => {
    await exchange.accept();
    exchange.confirm();
    exchange.reply(202, JSON.stringify(job), headers(exchange.nth));
  };
const idOf = (nth: number) => ({ 'x-request-id': `r-${nth}` });

test.each([
  ['new request ids', idOf, 0],
  ['none, so that all its replies are alike', () => ({}), 1],
])('a mock that names one job for all: %s', async (_, headers, resent) => {
  const mock = naming(service.addJob(4), headers);
  service.trouble = { submit: () => mock };
  const { code, summary, stderr } = await run(SEND);
  expect([code, summary!.status, summary!.rows.submitted], stderr).toEqual([0, 'completed', 11]);
  expect(summary!.warnings.at(-1)).toContain('gave the job id job-1 to more than one');
  expect(summary!.maybe_sent_twice).toHaveLength(resent);
});

test('one job for all requests ends them all, also when it fails and is not waited for', async () => {
  const mock = naming(service.addJob(4), idOf);
  service.trouble = { submit: () => mock, fate: () => fates.failed };
  const { run: id } = (await run(`${SEND} --no-wait`)).summary!;
  const followed = await run('resume');
  expect([followed.code, followed.summary!.run]).toEqual([7, id]);
  expect((await machine.requests(id!)).map(({ state }) => state)).toEqual(['settled', 'settled', 'settled']);
  service.trouble = {};
  const again = await run('resume --failed');
  expect(again.summary!.rows).toMatchObject({ submitted: 11, completed: 11 });
  expect((await run('resume')).stderr).toContain('no unfinished import');
});

test.each([1, 2])('rows whose job has the id of another one are sent again (%i at a time)', async (most) => {
  machine.write('four.csv', 'company_id,name\nc1,A\nc2,B\nc3,C\nc4,D\n');
  const alike = naming(service.addJob(1), idOf);
  let polls = 5;
  service.trouble = {
    submit: (n) => (n === 2 || n === 3 ? alike : undefined),
    fate: (n) => {
      const ends = n > 1 || (service.seen.submit > 2 && --polls < 0) || most === 1;
      return ends ? COMPLETED : fates.stuck;
    },
  };
  const line = `import four.csv --chunk-size 1 --concurrency ${most}`;
  const { summary } = await run(line);
  expect(summary!.warnings).toEqual([expect.stringContaining('job-1 to more than one request')]);
  // One after the other, the job of the first of them had ended before.
  expect((await run(`${line} --changed-only`)).summary!.rows.unchanged).toBe(most === 1 ? 3 : 2);
  expect((await run(`${line} --changed-only`)).summary!.rows.unchanged).toBe(4);
});

test.each([
  ['no job', { status: 'queued' }],
  ['a job that cannot be asked for', { status: 'queued', job_id: '..' }],
  ['a job by half of a surrogate pair', { status: 'queued', job_id: 'j\ud800' }],
])('a reply that names %s is not summed up as a rejection', async (_, job) => {
  service.trouble = { submit: () => naming(job) };
  const { code, summary, error, stderr } = await run(SEND);
  expect([code, summary!.status, summary!.rows.rejected], stderr).toEqual([5, 'partial', 0]);
  expect(error!.message).toBe('some rows are in no completed job; the warnings say why');
  // Nothing waits for such a job.
  service.trouble = {};
  const again = await run(SEND);
  expect([again.code, again.summary!.rows.completed], again.stderr).toEqual([0, 11]);
});

const deep =
  (status: number): Strike =>
  async (exchange: Exchange) => {
    const links = '['.repeat(100_000) + ']'.repeat(100_000);
    await (status === 202 ? exchange.accept() : exchange.read());
    exchange.reply(status, `{"job_id":"j${exchange.nth}","status":"queued","links":${links}}`);
  };
test.each([
  ['400 with JSON that nests too deeply', deep(400), /400 /],
  ['500 with JSON that nests too deeply', deep(500), /500 /],
])('%s is one sentence', async (_, strike, says) => {
  service.trouble = { submit: () => strike };
  const { code, summary, error, stderr } = await run(`${SEND} -o retries=0`);
  expect([code, summary!.rows.submitted], stderr).toEqual([6, 0]);
  expect(error!.message).toMatch(says);
  service.trouble = {};
  const again = await run('resume');
  expect([again.code, again.summary!.rows.completed], again.stderr).toEqual([0, 11]);
});

test('202 with JSON that nests too deeply beside the job id: the job counts, and nothing is sent again', async () => {
  service.trouble = { submit: () => deep(202) };
  const { code, summary, stderr } = await run(`${SEND} --no-wait`);
  expect([code, summary!.rows.submitted, summary!.jobs[0]!.job_id], stderr).toEqual([0, 11, 'j1']);
  expect(service.ledger.arrivals).toHaveLength(summary!.requests);
});

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

async function read(socket: Socket): Promise<string> {
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk) return chunk.toString('latin1');
    await once(socket, 'readable');
  }
}

test('a reply before the request was read: the memory of its body is not used again meanwhile', async () => {
  // Of each request, of some 12 MB, more than half is still in the client when the reply comes: two sockets take less.
  const [ROWS, CELL] = [13 * 5, 900_000];
  const bodies: string[] = [];
  /** Requests that were replied to with something left to read. */
  let early = 0;
  const serve = async (socket: Socket): Promise<void> => {
    for (let text = ''; ; ) {
      while (!text.includes('\r\n\r\n')) text += await read(socket);
      const head = text.indexOf('\r\n\r\n') + 4;
      const end = head + Number(/content-length: (\d+)/i.exec(text)![1]);
      if (text.length < end) early++;
      socket.write(http(202, JSON.stringify({ ...JOB, job_id: `j-${early}-${bodies.length}` })));
      await setTimeout(150); // nothing is read in the meantime
      while (text.length < end) text += await read(socket);
      bodies.push(text.slice(head, end));
      text = text.slice(end);
    }
  };
  const { url } = await listen(createServer((socket) => void serve(socket).catch(() => {})));
  machine.sendTo(url);
  const letter = (row: number): string => String.fromCharCode(97 + (row % 26));
  const cells = Array.from({ length: ROWS }, (_, row) => `${row}-`.padEnd(CELL, letter(row)));
  machine.write('big.csv', `company_id,name\n${cells.map((cell, row) => `c-${row},${cell}\n`).join('')}`);
  const { code, stderr } = await run('import big.csv -o chunk_bytes=12MB --no-wait --concurrency 2');
  expect(code, stderr).toBe(0);
  await expect.poll(() => bodies.length).toBe(5);
  expect(early).toBe(5);
  const items = bodies.flatMap(
    (body) =>
      (JSON.parse(body) as { companies: { company_id: string; metadata: { name: string } }[] }).companies,
  );
  const arrived = items.map(({ company_id, metadata }) => [company_id, digest(metadata.name)]);
  expect(new Map(arrived as [string, string][])).toEqual(
    new Map(cells.map((cell, row) => [`c-${row}`, digest(cell)])),
  );
});
