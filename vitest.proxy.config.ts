/** `npm run test:proxy`: whole imports through real intermediaries. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/proxy/*.test.ts'],
    globalSetup: 'test/support/temporary.ts',
    // Says why where tests are skipped.
    reporters: ['verbose'],
    maxWorkers: 2,
    // Another process, or a machine that is not the test's alone, may take its time.
    expect: { poll: { interval: 10, timeout: process.env.CI ? 60_000 : 15_000 } },
    testTimeout: process.env.CI ? 600_000 : 30_000,
    hookTimeout: process.env.CI ? 600_000 : 30_000,
  },
});
