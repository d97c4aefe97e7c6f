/** `npm run test:contract`: the client and the sandbox with a validator of other people's between them. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/contract/*.test.ts'],
    globalSetup: ['test/support/temporary.ts', 'test/contract/install.ts'],
    maxWorkers: 2,
    // Machines of CI are shared: a process or a terminal may be late there. What fails thrice is broken.
    retry: process.env.CI ? 2 : 0,
    testTimeout: process.env.CI ? 90_000 : 30_000,
    hookTimeout: process.env.CI ? 90_000 : 30_000,
  },
});
