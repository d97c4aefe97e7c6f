/** What is known of one profile afterwards (contract §1 `history`): everything that was done with it, and nothing else. */
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FaultServer } from '../support/fault-server.js';
import { onPostgres } from '../support/state.js';
import { Machine } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

const run = (argv: string[]) => machine.run(argv, { clock: machine.clock });

// The trigger is SQLite's.
test.skipIf(onPostgres)('a run has ended as it did where its state cannot be tidied afterwards', async () => {
  machine.write('a.csv', 'company_id,n\nc,1\n');
  await run(['import', 'a.csv']);
  const db = new DatabaseSync(join(machine.folder, '.state/state.db'));
  db.exec(`UPDATE history SET at = 0;
    CREATE TRIGGER full BEFORE DELETE ON history BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
  db.close();
  const again = await run(['import', 'a.csv']);
  expect([again.code, again.error, again.summary?.status], again.stderr).toEqual([0, null, 'completed']);
});
