/** `npm run test:processes`: tests that start many processes or run for long, which would make `npm test` take minutes longer. */
import { defineConfig } from 'vitest/config';

export const PROCESSES = [
  'test/action/*.test.ts',
  'test/pty/*.test.ts',
  'test/cli/{next,pipes,plain-terminal}.test.ts',
  'test/cli/commands/{report,completion/shells}.test.ts',
  'test/docs/{commands,recipes}.test.ts',
  'test/package/examples.test.ts',
  'test/loss/{boundaries,faults,isolate,isolate-kill,kill,signals,submitted,two}.test.ts',
];

export default defineConfig({
  test: {
    include: PROCESSES,
    globalSetup: 'test/support/temporary.ts',
    setupFiles: 'test/support/chance.ts',
    maxWorkers: 2,
    // Another process, or a machine that is not the test's alone, may take its time.
    expect: { poll: { interval: 10, timeout: process.env.CI ? 60_000 : 30_000 } },
    testTimeout: process.env.CI ? 600_000 : 120_000,
    hookTimeout: process.env.CI ? 600_000 : 120_000,
  },
});
