/** What a newer run has found unchanged is newer than older data (contract §4 "A retry never overtakes"). */
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { status } from './faults.js';
import { Machine, type Outcome } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

const run = (...argv: string[]): Promise<Outcome> => machine.run(argv);
const write = (path: string, name: string, ids = ['a', 'b', 'c']): void =>
  machine.write(path, `company_id,name\n${ids.map((id) => `${id},${name}\n`).join('')}`);

/** Bytes of the ids that the state keeps. */
function kept(): number {
  const db = new DatabaseSync(join(machine.folder, '.state', 'state.db'), { readOnly: true });
  const { bytes } = db
    .prepare(
      'SELECT coalesce(sum(length(ids)), 0) AS bytes FROM sends JOIN fingerprints USING (send) WHERE state = 3',
    )
    .get() as {
    bytes: number;
  };
  db.close();
  return bytes;
}

/** The service has "new"; an import of "old" data is unfinished; a newer one finds all rows as they are. */
async function verifiedSince(): Promise<string> {
  write('new.csv', 'new');
  await run('import', 'new.csv');
  write('old.csv', 'old', ['x', 'a', 'b', 'c']);
  service.trouble = { submit: () => status(404) };
  const stopped = await run('import', 'old.csv', '--chunk-size', '1');
  service.trouble = {};
  expect(stopped.summary!.rows).toMatchObject({ unsent: 4 });
  const newer = await run('import', 'new.csv', '--changed-only');
  expect(newer.summary!.rows).toMatchObject({ unchanged: 3, submitted: 0 });
  return newer.summary!.run!;
}

describe('an unfinished import of older data', () => {
  test('of which nothing is left to protect from keeps nothing', async () => {
    write('new.csv', 'new');
    await run('import', 'new.csv');
    await run('import', 'new.csv', '--changed-only');
    expect(kept()).toBe(0);
  });

  test('that is forgotten takes it along', async () => {
    await verifiedSince();
    const old = (await machine.runs()).find(({ resume }) => resume !== null)!;
    const { folder: cwd, env } = machine;
    expect((await cli(['runs', '--forget', old.run], { cwd, env })).code).toBe(0);
    expect(kept()).toBe(0);
  });
});

describe('a saved plan', () => {
  async function plannedOld(): Promise<void> {
    write('new.csv', 'new');
    await run('import', 'new.csv');
    write('old.csv', 'old');
    await run('import', 'old.csv', '--dry-run', '--save-plan', 'plan.json');
    machine.clock.pass(1_000);
    await run('import', 'new.csv', '--changed-only');
  }

  test('is refused after 30 days, and no longer counts', async () => {
    await plannedOld();
    machine.clock.pass(30 * 24 * 3_600_000 + 1_000);
    const { submit } = service.seen;
    const applied = await run('apply', 'plan.json');
    expect([applied.code, applied.error!.message]).toEqual([
      2,
      expect.stringMatching(/^the plan is more than 30 days old: it was made at /),
    ]);
    expect(applied.error!.hint).toContain('make a new one');
    expect(service.seen.submit).toBe(submit);
    // The next plan that is saved removes it from the state.
    await run('import', 'new.csv', '--dry-run', '--save-plan', 'next.json');
    const db = new DatabaseSync(join(machine.folder, '.state', 'state.db'), { readOnly: true });
    expect(db.prepare('SELECT count(*) AS plans FROM plans').get()).toEqual({ plans: 1 });
    expect(db.prepare("SELECT count(*) AS counters FROM meta WHERE name = 'number'").get()).toEqual({
      counters: 1,
    });
    db.close();
  });
});
