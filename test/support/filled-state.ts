/** A state in which every table has rows, and what is in it. */
import { expect } from 'vitest';
import type { Backend } from '../../src/engine/state/backend.js';
import { COPIED } from '../../src/engine/state/copy.js';
import { fates, status } from '../loss/faults.js';
import type { FaultServer } from './fault-server.js';
import type { Machine } from './workspace.js';

/** Of a named account and of one that goes by its token; a run is unfinished. */
export async function fill(machine: Machine, service: FaultServer): Promise<void> {
  const rows = Array.from({ length: 12 }, (_, i) => `c-${i},Company ${i}\n`);
  machine.write('companies.csv', `company_id,name\n${rows.join('')},nobody\n`);
  machine.write('users.csv', 'user_id,company_id,name\nu-1,c-1,A\nu-2,c-2,B\n');
  machine.write('config.json', JSON.stringify({ accounts: { production: {} } }), 0o600);
  const env = { PROFILES_ACCOUNT: 'production' };
  const all = [
    await machine.run('import companies.csv --skip-invalid --chunk-size 5 -o track_keys=true'),
    await machine.run('import users.csv --config config.json', { env }),
    await machine.run('identify user u-3 --set name=C --no-wait'),
  ];
  expect(
    all.map(({ code }) => code),
    all.map(({ stderr }) => stderr).join('\n'),
  ).toEqual([5, 0, 0]);
  service.trouble = { fate: () => fates.failed, submit: (nth) => (nth === 7 ? status(503) : undefined) };
  machine.write('more.csv', 'company_id,name\nm-1,x\nm-2,y\n');
  await machine.run('import more.csv --chunk-size 1 -o retries=0 --set tier=gold');
  service.trouble = {};
  // The unfinished import may not overwrite what is verified since.
  await machine.run('import companies.csv --skip-invalid --changed-only --save-plan plan.json --dry-run');
  await machine.run('import companies.csv --skip-invalid --changed-only');
}

/** All rows of all tables, in any database. Closes it. */
export async function contentOf({ db }: Backend): Promise<Record<string, unknown[]>> {
  const plain = (value: unknown): unknown =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  const content: Record<string, unknown[]> = {};
  for (const table of COPIED) {
    const rows = await db.read((on) => on.all<Record<string, unknown>>(`SELECT * FROM ${table}`));
    const texts = rows
      .filter(({ name }) => name !== 'moved_to')
      .map((row) => JSON.stringify(Object.entries(row).map(([name, value]) => [name, plain(value)])));
    content[table] = texts.sort();
  }
  await db.close();
  return content;
}
