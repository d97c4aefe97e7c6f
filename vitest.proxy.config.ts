/** `npm run test:proxy`: whole imports through real intermediaries. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/proxy/*.test.ts'],
    globalSetup: 'test/support/temporary.ts',
    // Says why where tests are skipped.
    reporters: ['verbose'],
    maxWorkers: 2,
    // Machines of CI are shared: a process or a terminal may be late there. What fails thrice is broken.
    retry: process.env.CI ? 2 : 0,
    testTimeout: process.env.CI ? 90_000 : 30_000,
    hookTimeout: process.env.CI ? 90_000 : 30_000,
  },
});
