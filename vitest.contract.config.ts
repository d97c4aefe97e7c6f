/** `npm run test:contract`: the client and the sandbox with a validator of other people's between them. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/contract/*.test.ts'],
    globalSetup: ['test/support/temporary.ts', 'test/contract/install.ts'],
    maxWorkers: 2,
    // Another process, or a machine that is not the test's alone, may take its time.
    expect: { poll: { interval: 10, timeout: process.env.CI ? 60_000 : 15_000 } },
    testTimeout: process.env.CI ? 600_000 : 30_000,
    hookTimeout: process.env.CI ? 600_000 : 30_000,
  },
});
