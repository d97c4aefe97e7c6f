/** What one run of a file has to know of another one of it (contract §4 "Across runs"). */

import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { onPostgres } from '../support/state.js';
import { fates, status } from './faults.js';
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

describe('a new import of the file', () => {
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

test.skipIf(onPostgres)('a crashed run is shown without the summary of the session before', async () => {
  write(['a', 'b']);
  service.trouble = { submit: () => status(503) };
  const { run: first } = (await run(...SEND)).summary!;
  expect((await shown(first!)).summary).toMatchObject({ status: 'stopped' });
  state("UPDATE runs SET status = 'running'");
  expect(await shown(first!)).toMatchObject({ status: 'crashed', summary: null });
});
