/** What may have arrived, and what was acknowledged, stays so, whatever becomes of a retry (contract §4). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { FAULTS, fates, status } from './faults.js';
import { Machine, type Outcome } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

const write = (path: string, rows: readonly string[]): void =>
  machine.write(path, `company_id,name\n${rows.map((row) => `${row}\n`).join('')}`);
const run = (...argv: string[]): Promise<Outcome> => machine.run(argv);
const SEND = ['import', 'a.csv', '-o', 'retries=0'];
const OUT = ['--outcomes', 'out.ndjson'];
const outcomes = (): [string, string, number | null, string | null][] =>
  readFileSync(join(machine.folder, 'out.ndjson'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ id, outcome, request, job_id }) => [id, outcome, request, job_id]);
const listed = async (...argv: string[]) => {
  const { folder: cwd, env, clock } = machine;
  return JSON.parse((await cli([...argv, '--json'], { cwd, env, clock })).stdout);
};
const historyOf = async (id: string): Promise<string[]> => {
  return (await listed('history', 'company', id)).map(({ outcome }: { outcome: string }) => outcome);
};

describe('a request whose reply was lost', () => {
  const lost = FAULTS['reset after acceptance'];

  test.each(['resume', 'resume twice'])('is unknown after a %s that leaves its rows out', async (how) => {
    write('a.csv', ['a,1', 'b,1']);
    service.trouble = { submit: () => lost };
    const first = (await run(...SEND)).summary!.run!;
    service.trouble = {};
    machine.clock.pass(1_000);
    write('newer.csv', ['a,2']);
    await run('import', 'newer.csv');
    if (how === 'resume twice') {
      service.trouble = { submit: () => lost };
      await run('resume', first);
      service.trouble = {};
    }
    const last = await run('resume', first, ...OUT);
    expect([last.code, last.summary!.rows], last.stderr).toMatchObject([5, { submitted: 1, unknown: 1 }]);
    expect(last.summary!.rows.unsent).toBeUndefined();
    expect(outcomes().map(([id, outcome]) => [id, outcome])).toEqual([
      ['a', 'unknown'],
      ['b', 'completed'],
    ]);
    expect(await historyOf('a')).toEqual(['completed', 'unknown']);
    expect(last.summary!.maybe_sent_twice).toMatchObject([{ rows: 1 }]);
  });

  test('is unknown in each half if it is too large when it is sent again', async () => {
    write('a.csv', ['a,1', 'b,1', 'c,1', 'd,1']);
    service.trouble = { submit: (nth) => (nth === 1 ? lost : status(nth === 2 ? 413 : 401)) };
    const first = await run('import', 'a.csv', ...OUT);
    expect([first.code, service.seen.submit], first.stderr).toEqual([4, 3]);
    expect(first.summary!.rows).toMatchObject({ submitted: 0, unknown: 4 });
    expect(outcomes().map(([, outcome]) => outcome)).toEqual(Array(4).fill('unknown'));
    service.trouble = {};
    write('newer.csv', ['c,2']);
    await run('import', 'newer.csv');
    const last = await run('resume', first.summary!.run!, ...OUT);
    expect(last.summary!.rows, last.stderr).toMatchObject({ submitted: 3, unknown: 1 });
    expect(outcomes().map(([id, outcome]) => [id, outcome])).toEqual([
      ['a', 'completed'],
      ['b', 'completed'],
      ['c', 'unknown'],
      ['d', 'completed'],
    ]);
    expect(last.summary!.maybe_sent_twice.map(({ rows }) => rows)).toEqual([2, 1]);
    const { folder: cwd, env } = machine;
    expect(await cli(['state', 'check'], { cwd, env })).toMatchObject({ code: 0 });
  });

  test.each([
    ['the second half was refused', [undefined, status(401)], [[4, 5]]],
    [
      'the first half was, and the second never sent',
      [status(401)],
      [
        [2, 3],
        [4, 5],
      ],
    ],
  ])('is named by a newer import, but for what has arrived since, if %s', async (_, halves, lines) => {
    write('a.csv', ['a,1', 'b,1', 'c,1', 'd,1']);
    service.trouble = { submit: (nth) => [lost, status(413), ...halves][nth - 1] };
    const first = await run('import', 'a.csv');
    expect(first.summary!.rows, first.stderr).toMatchObject({ unknown: 2 * lines.length });
    write('a.csv', ['a,2', 'b,2', 'c,2', 'd,2']);
    const newer = await run('import', 'a.csv', '--chunk-size', '2');
    expect([newer.code, newer.summary!.requests], newer.stderr).toEqual([0, 2]);
    const reason = expect.stringContaining('(ECONNRESET)');
    expect(newer.summary!.maybe_sent_twice).toMatchObject(
      lines.map(([first_line, last_line]) => ({ first_line, last_line, reason })),
    );
  });
});

describe('a further attempt leaves out what others have sent since', () => {
  const lost = FAULTS['reset after acceptance'];

  test.each([
    ['was not taken', status(409), 'unsent', []],
    ['may have arrived', lost, 'unknown', [2]],
  ])('where the one before %s', async (_, strike, outcome, named) => {
    machine.write('u.csv', 'user_id,name\na,1\nb,1\nc,1\n');
    service.trouble = {
      submit: (nth) =>
        nth > 1
          ? undefined
          : async (exchange) => {
              await (outcome === 'unsent' ? exchange.read() : exchange.accept());
              await run('identify', 'user', 'b', '--set', 'name=newer', '--no-wait');
              await strike(exchange);
            },
    };
    const { code, summary, stderr } = await run('import', 'u.csv', ...OUT);
    expect(service.ledger.arrivals.map(({ ids }) => ids.join(''))).toEqual(['abc', 'b', 'ac']);
    expect([code, summary!.rows], stderr).toMatchObject([5, { submitted: 2, [outcome]: 1 }]);
    expect(outcomes().map(([id, of]) => [id, of])).toEqual([
      ['a', 'completed'],
      ['b', outcome],
      ['c', 'completed'],
    ]);
    expect(summary!.maybe_sent_twice.map(({ rows }) => rows)).toEqual(named);
  });

  test('and ends there if that is all of it', async () => {
    machine.write('u.csv', 'user_id,name\na,1\nb,1\n');
    service.trouble = {
      submit: (nth) =>
        nth > 1
          ? undefined
          : async (exchange) => {
              await exchange.read();
              await run('identify', 'user', 'a', '--set', 'name=newer', '--no-wait');
              await status(409)(exchange);
            },
    };
    const { code, summary } = await run('import', 'u.csv', '--chunk-size', '1', ...OUT);
    expect(service.ledger.arrivals.map(({ ids }) => ids.join(''))).toEqual(['a', 'a', 'b']);
    expect([code, summary!.rows]).toMatchObject([5, { submitted: 1, unsent: 1 }]);
    expect(outcomes().map(([id, of]) => [id, of])).toEqual([
      ['a', 'unsent'],
      ['b', 'completed'],
    ]);
  });
});

describe('rows of an acknowledged request that are sent again', () => {
  const failed = { fate: () => fates.failed };

  test.each([
    ['a refused token', 401, 4],
    ['a service that is down', 404, 6],
  ])('stay submitted after %s', async (_, code, exit) => {
    write('a.csv', ['a,1', 'b,1', 'c,1', 'd,1']);
    service.trouble = failed;
    const first = await run(...SEND);
    expect([first.code, first.summary!.rows.submitted]).toEqual([7, 4]);
    const [job] = first.summary!.jobs;
    service.trouble = { submit: () => status(code) };
    const retried = await run('resume', first.summary!.run!, '--failed', ...OUT);
    expect([retried.code, retried.summary!.rows], retried.stderr).toMatchObject([exit, { submitted: 4 }]);
    expect(retried.summary!.rows.unsent).toBeUndefined();
    expect(retried.summary!.jobs).toMatchObject([{ job_id: job!.job_id }]);
    expect(outcomes()).toEqual(['a', 'b', 'c', 'd'].map((id) => [id, 'failed', 1, job!.job_id]));
    service.trouble = {};
    const last = await run('resume', first.summary!.run!);
    expect([last.code, last.summary!.rows], last.stderr).toMatchObject([0, { submitted: 4, completed: 4 }]);
  });

  test('keep what was completed, and are named if their job was short', async () => {
    write('a.csv', ['a,1', 'b,1', 'c,1', 'd,1']);
    service.trouble = { fate: () => fates.short };
    const first = await run(...SEND);
    const { completed } = first.summary!.rows;
    expect([first.code, completed > 0, completed < 4]).toEqual([5, true, true]);
    service.trouble = { submit: () => status(401) };
    const stopped = await run('resume', first.summary!.run!, '--failed');
    expect(stopped.summary!.rows).toMatchObject({ submitted: 4, completed });
    expect(stopped.summary!.maybe_sent_twice).toEqual([]);
    service.trouble = {};
    const last = await run('resume', first.summary!.run!);
    expect(last.summary!.rows).toMatchObject({ submitted: 4, completed: 4 });
    expect(last.summary!.maybe_sent_twice).toMatchObject([
      { rows: 4, reason: expect.stringContaining('completed') },
    ]);
  });

  test('stay so where newer data of others is sent instead', async () => {
    write('a.csv', ['a,1', 'b,1']);
    service.trouble = failed;
    const first = (await run(...SEND)).summary!.run!;
    service.trouble = {};
    write('newer.csv', ['a,2']);
    await run('import', 'newer.csv');
    const last = await run('resume', first, '--failed', ...OUT);
    expect([last.code, last.summary!.rows], last.stderr).toMatchObject([5, { submitted: 2, completed: 1 }]);
    expect(last.summary!.rows.unsent).toBeUndefined();
    expect(outcomes().map(([id, outcome]) => [id, outcome])).toEqual([
      ['a', 'failed'],
      ['b', 'completed'],
    ]);
  });
});
