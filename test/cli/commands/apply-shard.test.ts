/** `profiles apply --shard` with a state that has no shards. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cli, scratch } from '../../support/cli.js';

it('a shard needs a state in PostgreSQL, also of a plan that was applied', async () => {
  const cwd = scratch();
  const run = (line: string) => cli([...line.split(' '), '--region', 'sandbox'], { cwd });
  writeFileSync(join(cwd, 'c.csv'), 'company_id\n1\n2\n');
  expect((await run('import c.csv --dry-run --save-plan plan.json')).code).toBe(0);
  const before = await run('apply plan.json --shard 1/2');
  expect([before.code, before.stderr]).toEqual([2, expect.stringContaining('a PostgreSQL database')]);
  expect((await run('apply plan.json')).code).toBe(0);
  const after = await run('apply plan.json --shard 1/2');
  expect([after.code, after.stderr]).toEqual([2, before.stderr]);
});
