import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These need what Node and npm alone do not bring: `npm run test:contract`, `npm run test:proxy`.
    exclude: [...configDefaults.exclude, 'test/contract/**', 'test/proxy/**'],
    // Two cores: more workers only make socket and process tests wait for each other.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
