/** A state that moves from a folder to PostgreSQL and back, as `state migrate` does it (contract §10). */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import type { Backend } from '../../src/engine/state/backend.js';
import { COPIED, migrateState } from '../../src/engine/state/copy.js';
import { openPostgres } from '../../src/engine/state/postgres/backend.js';
import { openSqlite } from '../../src/engine/state/sqlite/backend.js';
import { fates, status } from '../loss/faults.js';
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

async function contentOf({ db }: Backend): Promise<Record<string, unknown[]>> {
  const content: Record<string, unknown[]> = {};
  for (const table of COPIED) {
    const rows = await db.read((on) =>
      on.all<Record<string, unknown>>(`SELECT * FROM ${table} ORDER BY 1, 2`),
    );
    content[table] = rows
      .filter(({ name }) => name !== 'moved_to')
      .map((row) =>
        Object.fromEntries(
          Object.entries(row)
            .map(([name, value]) => [
              name,
              value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
            ])
            .sort(([a], [b]) => (a! < b! ? -1 : 1)),
        ),
      );
  }
  await db.close();
  return content;
}

/** As a flag takes it: the password is in the environment. */
const place = (url: string): string => url.replace(`:${encodeURIComponent(PASSWORD)}@`, '@');

const inFolder = (name: string): Backend => openSqlite(join(machine.folder, name));

/** Every table has rows, of a named account and of one that goes by its token; a run is unfinished. */
async function withHistory(): Promise<void> {
  const rows = Array.from({ length: 12 }, (_, i) => `c-${i},Company ${i}\n`);
  machine.write('companies.csv', `company_id,name\n${rows.join('')},nobody\n`);
  machine.write('users.csv', 'user_id,company_id,name\nu-1,c-1,A\nu-2,c-2,B\n');
  machine.write('config.json', JSON.stringify({ accounts: { production: {} } }), 0o600);
  await machine.run([
    'import',
    'companies.csv',
    '--skip-invalid',
    '--chunk-size',
    '5',
    '-o',
    'track_keys=true',
  ]);
  await machine.run([
    'import',
    'users.csv',
    '--config',
    'config.json',
    '--account',
    'production',
    '--base-url',
    service.url,
  ]);
  await machine.run(['identify', 'user', 'u-3', '--set', 'name=C', '--no-wait']);
  service.trouble = { fate: () => fates.failed, submit: (nth) => (nth === 6 ? status(503) : undefined) };
  machine.write('more.csv', 'company_id,name\nm-1,x\nm-2,y\n');
  await machine.run(['import', 'more.csv', '--chunk-size', '1', '-o', 'retries=0', '--set', 'tier=gold']);
  service.trouble = {};
  // The unfinished import may not overwrite what is verified since.
  const changed = ['import', 'companies.csv', '--skip-invalid', '--changed-only'];
  await machine.run([...changed, '--save-plan', 'plan.json']);
  await machine.run(changed);
}

describe.runIf(hasPostgres).each(ways)('%s', (way) => {
  const test = testOn(way);

  test('there and back it is the same, and imports know what they knew', async ({ db }) => {
    await withHistory();
    const before = await contentOf(inFolder('.state'));
    for (const [table, rows] of Object.entries(before)) expect(rows, table).not.toEqual([]);
    const url = place(db.url());
    const there = await machine.run(['state', 'migrate', '--to', url]);
    expect([there.code, there.error], there.stderr).toEqual([0, null]);
    expect(JSON.stringify(there)).not.toContain(PASSWORD);
    expect(await contentOf(await openPostgres(locationOf(db.url())))).toEqual(before);

    const refused = await machine.run(['import', 'companies.csv', '--skip-invalid']);
    expect([refused.code, refused.error?.message]).toEqual([
      2,
      expect.stringMatching(
        /^this state has moved to postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres\?schema=/,
      ),
    ]);
    const changed = await machine.run([
      'import',
      'companies.csv',
      '--skip-invalid',
      '--changed-only',
      '--state',
      url,
    ]);
    expect(changed.summary!.rows, changed.stderr).toMatchObject({ read: 13, unchanged: 12, submitted: 0 });
    // What was unfinished continues, with the values that this machine has. One of its jobs has failed.
    const resumed = await machine.run(['resume', '--state', url]);
    expect([resumed.code, resumed.summary!.rows], resumed.stderr).toMatchObject([
      7,
      { submitted: 2, completed: 1 },
    ]);
    expect((await machine.run(['import', 'users.csv', '--state', url])).code).toBe(0);

    const now = await contentOf(await openPostgres(locationOf(db.url())));
    const back = await machine.run([
      'state',
      'migrate',
      '--state',
      url,
      '--to',
      `sqlite:${machine.folder}/back`,
    ]);
    expect(back.code, back.stderr).toBe(0);
    expect(await contentOf(inFolder('back'))).toEqual(now);
    const moved = await machine.run(['import', 'companies.csv', '--skip-invalid', '--state', url]);
    expect([moved.code, moved.error?.message]).toEqual([
      2,
      `this state has moved to sqlite:${machine.folder}/back`,
    ]);
    const again = await machine.run([
      'import',
      'companies.csv',
      '--skip-invalid',
      '--changed-only',
      '--state',
      `sqlite:${machine.folder}/back`,
    ]);
    expect(again.summary!.rows, again.stderr).toMatchObject({ read: 13, unchanged: 12, submitted: 0 });
    expect((await machine.run(['state', 'check', '--state', join(machine.folder, 'back')])).code).toBe(0);
  });

  test('what was killed after any batch begins again', async ({ db }) => {
    await withHistory();
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
      isDone = await migrateState({ from, to, progress, signal: stop.signal }).then(
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
