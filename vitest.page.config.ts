/** `npm run test:page`: the sandbox's page in a real Chromium. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/page/*.test.ts'],
    globalSetup: 'test/support/temporary.ts',
    // Says why where tests are skipped.
    reporters: ['verbose'],
    maxWorkers: 1,
    testTimeout: process.env.CI ? 600_000 : 120_000,
    hookTimeout: process.env.CI ? 600_000 : 90_000,
  },
});
