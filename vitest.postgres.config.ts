/** `npm run test:postgres`: the driver of PostgreSQL by itself, then the tests of the state with their state in PostgreSQL. */
import { configDefaults, defineConfig } from 'vitest/config';

const STATE = process.env.PROFILES_TEST_STATE;

/** Tests that say what an import, a command or the state remembers, whichever database it is in. */
const ON_EITHER = [
  'test/engine/state/{fingerprints,jobs,runs,scopes,privacy}.test.ts',
  'test/engine/run/run.test.ts',
  'test/loss/*.test.ts',
  'test/cli/commands/{apply,history,identify,import,job,jobs,resume,runs,sandbox}.test.ts',
];

/** About the files of a state directory: copied, removed, on a full disk, or opened by the test itself. */
const OF_FILES = [
  'test/loss/{backup,disk,migrate,recorded-rules,sandbox,state-removed,verified,writer}.test.ts',
];

export default defineConfig({
  test: {
    include: STATE ? ON_EITHER : ['test/postgres/*.test.ts'],
    exclude: [...configDefaults.exclude, ...OF_FILES],
    globalSetup: ['test/support/temporary.ts', 'test/support/postgres-setup.ts'],
    setupFiles: ['test/support/chance.ts', 'test/support/postgres-clean.ts'],
    maxWorkers: 2,
    // Another process, or a machine that is not the test's alone, may take its time.
    expect: { poll: { interval: 10, timeout: process.env.CI ? 60_000 : 15_000 } },
    // A property takes hundreds of turns to the database and back.
    testTimeout: process.env.CI ? 600_000 : 180_000,
    hookTimeout: process.env.CI ? 600_000 : 30_000,
  },
});
