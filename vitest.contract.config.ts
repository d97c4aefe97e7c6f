/** `npm run test:contract`: the client and the sandbox with a validator of other people's between them. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/contract/*.test.ts'],
    globalSetup: 'test/contract/install.ts',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
