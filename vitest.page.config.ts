/** `npm run test:page`: the sandbox's page in a real Chromium. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/page/*.test.ts'],
    globalSetup: 'test/support/temporary.ts',
    // Says why where tests are skipped.
    reporters: ['verbose'],
    maxWorkers: 1,
    // Machines of CI are shared: a process or a browser may be late there. What fails thrice is broken.
    retry: process.env.CI ? 2 : 0,
    testTimeout: 120_000,
    hookTimeout: 90_000,
  },
});
