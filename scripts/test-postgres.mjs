// npm run test:postgres: runs the tests of the PostgreSQL driver, then the tests of the state with
// PostgreSQL, directly and (some of them) through PgBouncer. Files named after `--` are run in each way: --
// test/loss/two.test.ts
import { spawnSync } from 'node:child_process';

const named = process.argv.slice(2);
/** Enough tests to see that nothing is kept in a database session. */
const POOLED = ['test/engine/state', 'test/loss/resume', 'test/loss/between', 'test/loss/two'];
const WAYS = [
  { state: undefined, files: [] },
  { state: 'postgres', files: [] },
  { state: 'pgbouncer', files: POOLED },
];

let failed = false;
for (const { state, files } of WAYS) {
  console.log(`== ${state === undefined ? 'the driver' : `the state in ${state}`}`);
  const words = ['run', '--project', 'postgres', '--passWithNoTests', ...(named.length > 0 ? named : files)];
  const { status } = spawnSync('node_modules/.bin/vitest', words, {
    stdio: 'inherit',
    env: { ...process.env, ...(state && { PROFILES_TEST_STATE: state }) },
  });
  failed ||= status !== 0;
}
process.exitCode = failed ? 1 : 0;
