import { expect, test } from 'vitest';
import { type FileRange, rangesIn } from '../../src/engine/model.js';
import { workspace } from '../support/workspace.js';
import { FAULTS, status } from './faults.js';

const { service, machine, run } = workspace();

/** Files of `rows` companies each: `f0.csv` has `c-0` to `c-<rows-1>`, and so on. */
function files(count: number, rows: number): string {
  const names = Array.from({ length: count }, (_, file) => {
    const lines = Array.from({ length: rows }, (_, row) => `c-${file * rows + row},Company\n`);
    machine.write(`f${file}.csv`, `company_id,name\n${lines.join('')}`);
    return `f${file}.csv`;
  });
  return names.join(' ');
}

const sent = (): string[] =>
  service.ledger.arrivals.filter(({ accepted }) => accepted).flatMap(({ ids }) => ids);
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `c-${from + i}`);

test('100 files of 100 rows are 2 requests', async () => {
  const { code, summary, stderr } = await run(`import ${files(100, 100)}`);
  expect(code, stderr).toBe(0);
  expect([summary!.requests, service.ledger.arrivals.length]).toEqual([2, 2]);
  expect(service.ledger.arrivals.map((arrival) => arrival.ids.length)).toEqual(Array(2).fill(5_000));
  expect(sent()).toEqual(ids(0, 10_000));
  const [first] = summary!.jobs;
  expect(first).not.toHaveProperty('file');
  expect(first).not.toHaveProperty('first_line');
  expect(first!.ranges).toEqual(
    Array.from({ length: 50 }, (_, i): FileRange => ({ file: `f${i}.csv`, first_line: 2, last_line: 101 })),
  );
});

test('companies and users never share a request, and the plan counts as many as are sent', async () => {
  machine.write('a.csv', 'company_id\nc-1\n');
  machine.write('b.csv', 'user_id\nu-1\n');
  machine.write('c.csv', 'company_id\nc-2\n');
  const planned = await run('import a.csv b.csv c.csv --dry-run');
  expect(planned.summary!.plan!.requests).toBe(2);
  const { summary } = await run('import a.csv b.csv c.csv');
  expect(summary!.jobs[0]!.ranges).toEqual([
    { file: 'a.csv', first_line: 2, last_line: 2 },
    { file: 'c.csv', first_line: 2, last_line: 2 },
  ]);
  expect(summary!.jobs[1]).toMatchObject({ file: 'b.csv', first_line: 2, last_line: 2 });
});

test('the rows of a refused request go to the rejects file of each input', async () => {
  const inputs = files(3, 2);
  service.trouble = { submit: (nth) => (nth === 1 ? status(422) : undefined) };
  const { code, summary, stderr } = await run(`import ${inputs} --chunk-size 4 --on-failure continue`);
  expect(code, stderr).toBe(5);
  expect(sent()).toEqual(['c-4', 'c-5']);
  expect(summary!.rows).toMatchObject({ read: 6, rejected: 4, submitted: 2 });
  expect(summary!.files.map(({ rows }) => rows.rejected)).toEqual([2, 2, 0]);
  expect(summary!.rejected.map(({ file, line }) => [file, line])).toEqual([
    ['f0.csv', 2],
    ['f0.csv', 3],
    ['f1.csv', 2],
    ['f1.csv', 3],
  ]);
  const rejects = summary!.files.map(({ rejects_file }) => rejects_file);
  expect(rejects).toEqual(['f0.rejects.csv', 'f1.rejects.csv', null]);
  expect(machine.read('f1.rejects.csv')).toMatch(/^c-2,.*\r\nc-3,/m);
});

test('a request that may have arrived is repeated as it was, and named by its ranges', async () => {
  const inputs = files(4, 3);
  const lose = FAULTS['reset after acceptance'];
  service.trouble = { submit: (nth) => (nth === 2 ? lose : nth > 2 ? status(503) : undefined) };
  const first = await run(`import ${inputs} --chunk-size 5 -o retries=0`);
  expect(first.code, first.stderr).toBe(6);
  service.trouble = {};
  const last = await run('resume');
  expect(last.code, last.stderr).toBe(0);
  expect(last.summary!.rows).toMatchObject({ read: 12, submitted: 12, completed: 12 });
  const [, lost, again] = service.ledger.arrivals;
  expect(again!.sha256).toBe(lost!.sha256);
  expect(last.summary!.maybe_sent_twice.map(rangesIn)).toEqual([
    [
      { file: 'f1.csv', first_line: 4, last_line: 4 },
      { file: 'f2.csv', first_line: 2, last_line: 4 },
      { file: 'f3.csv', first_line: 2, last_line: 2 },
    ],
  ]);
  expect(new Set(sent())).toEqual(new Set(ids(0, 12)));
});

test('halves after a 413 keep the places of their rows, also for a resume', async () => {
  const inputs = files(3, 4);
  const tooLarge = 4;
  let gone = false;
  service.trouble = {
    submit: (nth) => async (exchange) => {
      const { ids } = await exchange.read();
      if (ids.length > tooLarge) return status(413)(exchange);
      gone ||= nth > 4;
      return gone ? status(503)(exchange) : exchange.acknowledge();
    },
  };
  const first = await run(`import ${inputs} -o retries=0`);
  expect(first.code, first.stderr).toBe(6);
  service.trouble = {};
  const last = await run('resume');
  expect(last.code, last.stderr).toBe(0);
  expect(sent()).toEqual(ids(0, 12));
  const places = last.summary!.jobs.flatMap(rangesIn);
  expect(places.map(({ file, first_line, last_line }) => [file, last_line - first_line + 1])).toEqual([
    ['f0.csv', 3],
    ['f0.csv', 1],
    ['f1.csv', 2],
    ['f1.csv', 2],
    ['f2.csv', 1],
    ['f2.csv', 3],
  ]);
});
