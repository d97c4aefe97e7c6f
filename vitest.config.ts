import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These need what Node and npm alone do not bring: `npm run test:contract`, `npm run test:proxy`, `npm run test:page`.
    exclude: [...configDefaults.exclude, 'test/contract/**', 'test/proxy/**', 'test/page/**'],
    globalSetup: 'test/support/temporary.ts',
    // Two cores: more workers only make socket and process tests wait for each other.
    maxWorkers: 2,
    // Machines of CI are shared: a process or a terminal may be late there. What fails thrice is broken.
    retry: process.env.CI ? 2 : 0,
    testTimeout: process.env.CI ? 90_000 : 30_000,
    hookTimeout: process.env.CI ? 90_000 : 30_000,
    coverage: {
      include: ['src/**'],
      // Files that are covered whole are left out of the text, so that what is not stands out.
      reporter: [['text', { skipFull: true }], 'html'],
      // A failed test is no reason to keep the figures back.
      reportOnFailure: true,
    },
  },
});
