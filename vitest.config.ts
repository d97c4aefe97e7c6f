import { configDefaults, defineConfig } from 'vitest/config';
import { PROCESSES } from './vitest.processes.config.js';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Other commands: `npm run test:processes` takes its time; `npm run test:contract`, `npm run test:postgres`, `npm run test:proxy` and
    // `npm run test:page` need more than Node and npm.
    exclude: [
      ...configDefaults.exclude,
      ...PROCESSES,
      'test/contract/**',
      'test/postgres/**',
      'test/proxy/**',
      'test/page/**',
    ],
    globalSetup: 'test/support/temporary.ts',
    setupFiles: 'test/support/chance.ts',
    // One process after another for 200 files would take longer to start than most of them take.
    isolate: false,
    // Two cores: more workers only make socket and process tests wait for each other.
    maxWorkers: 2,
    // Another process, or a machine that is not the test's alone, may take its time.
    expect: { poll: { interval: 10, timeout: process.env.CI ? 60_000 : 30_000 } },
    testTimeout: process.env.CI ? 600_000 : 120_000,
    hookTimeout: process.env.CI ? 600_000 : 120_000,
    coverage: {
      include: ['src/**'],
      // Files that are covered whole are left out of the text, so that what is not stands out.
      reporter: [['text', { skipFull: true }], 'html'],
      // A failed test is no reason to keep the figures back.
      reportOnFailure: true,
    },
  },
});
