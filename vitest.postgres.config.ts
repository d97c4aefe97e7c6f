/** `npm run test:postgres`: the state in PostgreSQL, also behind PgBouncer. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/postgres/*.test.ts'],
    globalSetup: ['test/support/temporary.ts', 'test/support/postgres-setup.ts'],
    maxWorkers: 2,
    // Another process, or a machine that is not the test's alone, may take its time.
    expect: { poll: { interval: 10, timeout: 15_000 } },
    testTimeout: process.env.CI ? 90_000 : 30_000,
    hookTimeout: process.env.CI ? 90_000 : 30_000,
  },
});
