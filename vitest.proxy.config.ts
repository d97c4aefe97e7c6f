/** `npm run test:proxy`: whole imports through real intermediaries. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/proxy/*.test.ts'],
    // Says why where tests are skipped.
    reporters: ['verbose'],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
