/** At a terminal, an import of files whose run is unfinished asks whether to continue that. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'vitest';
import { cli, scratch, typing } from '../support/cli.js';
import { environmentOf, test } from '../support/sandbox.js';
import { onPostgres } from '../support/state.js';

test.for([
  ['Enter continues', '\n', [], true],
  ['yes continues', 'yes\n', [], true],
  ['what is neither is asked again', 'maybe\ny\n', [], true],
  ['n starts again', 'n\n', [], false],
  ['with --no-input nobody is asked', '', ['--no-input'], false],
] as const)('%s', async ([, answer, flags, continues], { start }) => {
  const sandbox = await start({ faults: ['422:nth=2'] });
  const cwd = scratch();
  writeFileSync(join(cwd, 'c.csv'), 'company_id\n1\n2\n');
  const env = { ...environmentOf(sandbox), TERM: 'xterm' };
  const line = ['import', 'c.csv', '--chunk-size', '1', '-o', 'interval=5ms'];
  expect((await cli(line, { cwd, env })).code).toBe(6);
  const sent = sandbox.ledger().length;
  const { code, stderr } = await cli([...line, ...flags], { cwd, env, columns: 100, stdin: typing(answer) });
  expect(code, stderr).toBe(0);
  expect(stderr.includes('Continue it?')).toBe(answer !== '');
  if (answer !== '') expect(stderr).toContain('is unfinished, 1 of 2 rows sent.');
  const posts = sandbox
    .ledger()
    .slice(sent)
    .filter(({ method }) => method === 'POST');
  expect(posts).toHaveLength(continues ? 1 : 2);
  const runs = JSON.parse((await cli(['runs', '--json'], { cwd, env })).stdout) as { status: string }[];
  expect(runs.map(({ status }) => status)).toEqual(continues ? ['completed'] : ['completed', 'superseded']);
});

test('without a terminal nobody is asked', async ({ start }) => {
  const sandbox = await start({ faults: ['422:nth=2'] });
  const cwd = scratch();
  writeFileSync(join(cwd, 'c.csv'), 'company_id\n1\n2\n');
  const env = environmentOf(sandbox);
  const line = ['import', 'c.csv', '--chunk-size', '1', '-o', 'interval=5ms'];
  expect((await cli(line, { cwd, env })).code).toBe(6);
  const { code, stderr } = await cli(line, { cwd, env });
  expect([code, stderr]).toEqual([0, expect.stringContaining('this import replaces run')]);
  expect(stderr).not.toContain('Continue it?');
});

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
