/** What one run of a file has to know of another one of it (contract §4 "Across runs"). */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { onPostgres } from '../support/state.js';
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
const write = (ids: readonly string[], name = 'n'): void =>
  machine.write('a.csv', `company_id,name\n${ids.map((id) => `${id},${name}\n`).join('')}`);
const SEND = ['import', 'a.csv', '--chunk-size', '2', '-o', 'retries=0'];
const state = (sql: string): void => {
  const db = new DatabaseSync(join(machine.folder, '.state', 'state.db'));
  db.exec(sql);
  db.close();
};
const shown = async (id: string) => {
  const { folder: cwd, env } = machine;
  return JSON.parse((await cli(['runs', id, '--json'], { cwd, env })).stdout);
};

test('import --resume after a run that did not wait follows its jobs and sends nothing', async () => {
  write(['a', 'b', 'c']);
  const first = await run(...SEND, '--no-wait');
  expect([first.code, first.summary!.status]).toEqual([0, 'submitted']);
  const { submit } = service.seen;
  const again = await run(...SEND, '--resume');
  expect([again.code, again.summary!.run], again.stderr).toEqual([0, first.summary!.run]);
  expect(again.summary!).toMatchObject({ status: 'completed', rows: { submitted: 3, completed: 3 } });
  expect(service.seen.submit).toBe(submit);
});

describe('a new import of the file', () => {
  const lost = FAULTS['reset after acceptance'];

  test('names the rows whose reply an import that it replaces has lost, also after a stop of its own', async () => {
    write(['a', 'b', 'c', 'd']);
    service.trouble = { submit: (nth) => (nth === 2 ? lost : undefined) };
    const first = await run(...SEND);
    write(['x', 'y', 'c', 'z'], 'new');
    service.trouble = { submit: (nth) => (nth === 4 ? status(404) : undefined) };
    const stopped = await run(...SEND);
    expect(stopped.summary!.warnings).toEqual([
      expect.stringContaining(`replaces run ${first.summary!.run}`),
    ]);
    expect(stopped.summary!.maybe_sent_twice).toEqual([]);
    service.trouble = {};
    const last = await run('resume');
    expect(last.summary!.maybe_sent_twice).toMatchObject([
      {
        first_line: 4,
        last_line: 5,
        rows: 2,
        reason: expect.stringContaining(`run ${first.summary!.run} may have sent it`),
      },
    ]);
  });

  test.each<[string, number[], string[]]>([
    ['refused', [429, 429], []],
    ['refused for its rows, and then not sent again', [422, 401], ['--on-failure', 'isolate']],
  ])('has no doubt of its own about rows that were %s', async (_, answers, flags) => {
    write(['a', 'b']);
    service.trouble = { submit: (nth) => (nth === 1 ? lost : undefined) };
    await run(...SEND);
    write(['a', 'b'], 'new');
    service.trouble = { submit: (nth) => (answers[nth - 2] ? status(answers[nth - 2]!) : undefined) };
    const flagsOf = ['-o', 'retries=1', '--outcomes', 'outcomes.ndjson', ...flags];
    const { summary, stderr } = await run('import', 'a.csv', ...flagsOf);
    expect(summary, stderr).toMatchObject({ rows: { unsent: 2 }, maybe_sent_twice: [] });
    const outcomes = readFileSync(join(machine.folder, 'outcomes.ndjson'), 'utf8').trim().split('\n');
    expect(outcomes.map((line) => JSON.parse(line).outcome)).toEqual(['unsent', 'unsent']);
    const last = await run('resume');
    expect(last.summary!.maybe_sent_twice).toMatchObject([
      { rows: 2, reason: expect.stringContaining('may have sent it') },
    ]);
  });

  test.skipIf(onPostgres)(
    'leaves the import of another machine alone, unless the file is the same',
    async () => {
      write(['a', 'b', 'c']);
      service.trouble = { submit: () => status(404) };
      await run(...SEND);
      state("UPDATE runs SET machine = 'another'");
      write(['a', 'b', 'd']);
      const other = await run(...SEND);
      expect(other.summary!.warnings.join()).not.toContain('replaces');
      state("UPDATE runs SET machine = 'another'");
      const same = await run(...SEND);
      expect(same.summary!.warnings).toContainEqual(
        expect.stringContaining(`replaces run ${other.summary!.run}`),
      );
    },
  );
});

test('rejected rows are shown, whichever session rejected them', async () => {
  machine.write('a.csv', 'company_id,name\na,1\n,nobody\nbad,2\nb,3\nc,4\nd,5\n');
  service.trouble = { submit: (nth) => (nth === 2 ? status(422) : nth === 3 ? status(404) : undefined) };
  const flags = ['--skip-invalid', '--on-failure', 'continue', '--chunk-size', '1'];
  const first = await run('import', 'a.csv', ...flags);
  expect([first.code, first.summary!.rows.rejected], first.stderr).toEqual([6, 2]);
  service.trouble = {};
  const last = await run('resume');
  const rows = [
    { file: 'a.csv', line: 3, reason: expect.stringContaining('company_id is empty') },
    { file: 'a.csv', line: 4, reason: expect.stringContaining('422') },
  ];
  expect(last.summary!.rejected).toMatchObject(rows);
  const { summary } = await shown(last.summary!.run!);
  const see = `see ${last.summary!.files[0]!.rejects_file}`;
  expect(summary.rejected).toEqual(rows.map(({ file, line }) => ({ file, line, reason: see })));
});

test.each([
  ['more rows than it was sent', (n: number) => n + 3, 2],
  ['fewer than none', () => -5, 0],
])('a job that completed %s is a warning, and is not printed', async (_, count, printed) => {
  write(['a', 'b']);
  service.trouble = {
    fate: () => (job) => ({ ...job, status: 'completed', completed_rows: count(job.total_rows) }),
  };
  const { summary } = await run(...SEND);
  expect(summary!.warnings).toContainEqual(
    expect.stringMatching(/completed -?\d of 2 rows, which cannot be$/),
  );
  expect(summary!.jobs).toMatchObject([{ completed_rows: printed }]);
  expect(summary!.rows.completed).toBe(printed);
});

test.skipIf(onPostgres)('an unfinished run whose process died is said to have crashed', async () => {
  write(['a', 'b', 'c']);
  service.trouble = { fate: () => fates.failed };
  const first = await run(...SEND);
  state("UPDATE runs SET finished = 0, status = 'running'");
  const { code, error } = await run('resume', first.summary!.run!, '--failed');
  expect([code, error!.message]).toEqual([2, `run ${first.summary!.run} is unfinished (crashed)`]);
});

test('rows that were left out for newer data leave the state whole', async () => {
  write(['a', 'b']);
  service.trouble = { fate: () => fates.failed };
  const first = (await run(...SEND)).summary!.run!;
  service.trouble = {};
  machine.write('newer.csv', 'company_id,name\na,2\nb,2\n');
  await run('import', 'newer.csv');
  const last = await run('resume', first, '--failed');
  expect([last.code, last.summary!.rows]).toMatchObject([5, { submitted: 2 }]);
  const { folder: cwd, env } = machine;
  expect(await cli(['state', 'check'], { cwd, env })).toMatchObject({ code: 0 });
});

test('rows that were left out for newer data are counted once when the rest is sent again', async () => {
  write(['a', 'b']);
  service.trouble = { submit: () => status(503) };
  const { run: first } = (await run(...SEND)).summary!;
  service.trouble = {};
  machine.write('newer.csv', 'company_id,name\na,new\n');
  expect((await run('import', 'newer.csv')).code).toBe(0);
  service.trouble = { fate: () => fates.failed };
  expect((await run('resume', first!)).code).toBe(7);
  service.trouble = {};
  const last = await run('resume', first!, '--failed');
  expect(last.code, last.stderr).toBe(5);
  expect(last.summary!.rows).toMatchObject({ unchanged: 0, submitted: 1, completed: 1, unknown: 1 });
});

test('a row whose reply was lost stays unknown where the rest of its request fails', async () => {
  write(['a', 'b']);
  service.trouble = { submit: () => FAULTS['reset after acceptance'] };
  const { run: first } = (await run(...SEND)).summary!;
  service.trouble = {};
  machine.write('newer.csv', 'company_id,name\na,new\n');
  expect((await run('import', 'newer.csv')).code).toBe(0);
  service.trouble = { fate: () => fates.failed };
  const last = await run('resume', first!, '--on-failure', 'isolate', '--outcomes', 'rows.ndjson');
  expect(last.summary!.rows, last.stderr).toMatchObject({ unknown: 1, rejected: 1 });
  const rows = readFileSync(join(machine.folder, 'rows.ndjson'), 'utf8').trimEnd().split('\n');
  expect(rows.map((row) => (JSON.parse(row) as { outcome: string }).outcome)).toEqual([
    'unknown',
    'rejected',
  ]);
});

test.skipIf(onPostgres)('a crashed run is shown without the summary of the session before', async () => {
  write(['a', 'b']);
  service.trouble = { submit: () => status(503) };
  const { run: first } = (await run(...SEND)).summary!;
  expect((await shown(first!)).summary).toMatchObject({ status: 'stopped' });
  state("UPDATE runs SET status = 'running'");
  expect(await shown(first!)).toMatchObject({ status: 'crashed', summary: null });
});
