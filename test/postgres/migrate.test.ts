/** A state that moves from a folder to PostgreSQL and back, as `state migrate` does it (contract §10). */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import type { Backend } from '../../src/engine/state/backend.js';
import { COPIED, migrateState } from '../../src/engine/state/copy.js';
import { openPostgres } from '../../src/engine/state/postgres/backend.js';
import { openSqlite } from '../../src/engine/state/sqlite/backend.js';
import { contentOf, fill } from '../loss/support.js';
import { FaultServer } from '../support/fault-server.js';
import { PASSWORD } from '../support/postgres.js';
import { Machine } from '../support/workspace.js';
import { hasPostgres, locationOf, testOn, ways } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.env.PGPASSWORD = PASSWORD;
});
afterEach(() => service.stop());

/** As a flag takes it: the password is in the environment. */
const place = (url: string): string => url.replace(`:${encodeURIComponent(PASSWORD)}@`, '@');

const inFolder = (name: string): Backend => openSqlite(join(machine.folder, name));

describe.runIf(hasPostgres).each(ways)('%s', (way) => {
  const test = testOn(way);

  test('there and back it is the same, and imports know what they knew', async ({ db }) => {
    await fill(machine, service);
    const before = await contentOf(inFolder('.state'));
    for (const [table, rows] of Object.entries(before)) expect(rows, table).not.toEqual([]);
    const url = place(db.url());
    const there = await machine.run(`state migrate --to ${url}`);
    expect([there.code, there.error], there.stderr).toEqual([0, null]);
    expect(JSON.stringify(there)).not.toContain(PASSWORD);
    expect(await contentOf(await openPostgres(locationOf(db.url())))).toEqual(before);

    const refused = await machine.run('import companies.csv --skip-invalid');
    expect([refused.code, refused.error?.message]).toEqual([
      2,
      expect.stringMatching(
        /^this state has moved to postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres\?schema=/,
      ),
    ]);
    const changed = await machine.run(`import companies.csv --skip-invalid --changed-only --state ${url}`);
    expect(changed.summary!.rows, changed.stderr).toMatchObject({ read: 13, unchanged: 12, submitted: 0 });
    // What was unfinished continues, with the values that this machine has. One of its jobs has failed.
    const resumed = await machine.run(`resume --state ${url}`);
    expect([resumed.code, resumed.summary!.rows], resumed.stderr).toMatchObject([
      7,
      { submitted: 2, completed: 1 },
    ]);
    expect((await machine.run(`import users.csv --state ${url}`)).code).toBe(0);

    const now = await contentOf(await openPostgres(locationOf(db.url())));
    const back = await machine.run(`state migrate --state ${url} --to sqlite:${machine.folder}/back`);
    expect(back.code, back.stderr).toBe(0);
    expect(await contentOf(inFolder('back'))).toEqual(now);
    const moved = await machine.run(`import companies.csv --skip-invalid --state ${url}`);
    expect([moved.code, moved.error?.message]).toEqual([
      2,
      `this state has moved to sqlite:${machine.folder}/back`,
    ]);
    const again = await machine.run(
      `import companies.csv --skip-invalid --changed-only --state sqlite:${machine.folder}/back`,
    );
    expect(again.summary!.rows, again.stderr).toMatchObject({ read: 13, unchanged: 12, submitted: 0 });
    expect((await machine.run('state check --state back')).code).toBe(0);
  });

  test('what was killed after any batch begins again', async ({ db }) => {
    await fill(machine, service);
    const before = await contentOf(inFolder('.state'));
    let isDone = false;
    // Each attempt goes a table further.
    for (let attempt = 1; !isDone; attempt++) {
      expect(attempt).toBeLessThanOrEqual(COPIED.length + 1);
      const [from, to] = [inFolder('.state'), await openPostgres(locationOf(db.url()))];
      const stop = new AbortController();
      let left = attempt;
      const progress = (): void => {
        if (--left === 0) stop.abort(new Error('killed'));
      };
      isDone = await migrateState(from, to, stop.signal, progress).then(
        () => true,
        (error: Error) => {
          expect(error.message).toBe('killed');
          return false;
        },
      );
      await from.db.close();
      await to.db.close();
    }
    expect(await contentOf(await openPostgres(locationOf(db.url())))).toEqual(before);
  });
});
