/** At a terminal, an import of files whose run is unfinished asks whether to continue that. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'vitest';
import { cli, scratch, typing } from '../support/cli.js';
import { environmentOf, test } from '../support/sandbox.js';
import { onPostgres } from '../support/state.js';

test.skipIf(onPostgres)('a run whose process died is said to have crashed', async ({ start }) => {
  const sandbox = await start({ faults: ['422:nth=2'] });
  const cwd = scratch();
  writeFileSync(join(cwd, 'c.csv'), 'company_id\n1\n2\n');
  const env = { ...environmentOf(sandbox), TERM: 'xterm' };
  const line = ['import', 'c.csv', '--chunk-size', '1', '-o', 'interval=5ms'];
  expect((await cli(line, { cwd, env })).code).toBe(6);
  const db = new DatabaseSync(join(cwd, '.state', 'state.db'));
  db.exec("UPDATE runs SET status = 'running', summary = NULL");
  db.close();
  const { code, stderr } = await cli(line, { cwd, env, columns: 100, stdin: typing('y\n') });
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/run \S+ of the same content has crashed\.\s+Continue it\?/);
});
