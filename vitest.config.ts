/**
 * A project for each command: `npm test` runs `unit`, which needs Node and npm only, and `npm run test:<name>` runs
 * another one. `npx vitest run <file>` finds the project of a file.
 */
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const OTHERS = ['contract', 'page', 'postgres', 'proxy'];

/** They start many processes or run for long, and would make `npm test` take minutes longer. */
const PROCESSES = [
  'test/action/*.test.ts',
  'test/pty/*.test.ts',
  'test/cli/{next,ownership,pipes,plain-terminal}.test.ts',
  'test/cli/commands/{report,completion/shells}.test.ts',
  'test/docs/{commands,recipes}.test.ts',
  'test/package/{columns,examples,load,package}.test.ts',
  'test/loss/{commits,disk,faults,following,isolate,kill,output,relay,signals,state-removed,two}.test.ts',
];

/** Pages of `test/cli/transcripts`, each a file of tests, that say the same whichever database the state is in. */
const EITHER_PAGES =
  'between,canary,changes,follow,history,identify,import,isolate,outcomes,plans,rejected-before,rejects,runs,selected';

/** They say what an import, a command or the state remembers, whichever database it is in. */
const ON_EITHER = [
  'test/engine/state/{fingerprints,jobs,runs,privacy}.test.ts',
  'test/engine/run/run.test.ts',
  'test/loss/*.test.ts',
  'test/cli/commands/{identify,job,jobs,sandbox}.test.ts',
  `test/cli/transcripts/{${EITHER_PAGES}}.md`,
];
/** About the files of a state directory: copied, removed, on a full disk, or opened by the test itself. */
const OF_FILES = ['test/loss/{disk,migrate,recorded,state-removed}.test.ts'];

/** Makes a page a file of tests. */
const pages = {
  name: 'pages',
  transform: (_: string, id: string) => {
    if (!id.endsWith('.md')) return;
    const open = id.includes('/test/sandbox/') ? 'exchange' : 'transcript';
    return `import { ${open} } from '/test/support/${open}.ts'; ${open}(${JSON.stringify(id)});`;
  },
};

const project = (
  name: string,
  include: string[],
  others: NonNullable<TestProjectInlineConfiguration['test']> = {},
): TestProjectInlineConfiguration => ({ extends: true, test: { name, include, ...others } });

export default defineConfig({
  plugins: [pages],
  test: {
    globalSetup: ['test/support/temporary.ts'],
    setupFiles: ['test/support/chance.ts'],
    // Two cores: more workers only make socket and process tests wait for each other.
    maxWorkers: 2,
    // Another process, or a machine that is not the test's alone, may take its time.
    expect: { poll: { interval: 10, timeout: process.env.CI ? 60_000 : 30_000 } },
    testTimeout: process.env.CI ? 600_000 : 180_000,
    hookTimeout: process.env.CI ? 600_000 : 180_000,
    coverage: {
      include: ['src/**'],
      // Files that are covered whole are left out of the text, so that what is not stands out.
      reporter: [['text', { skipFull: true }], 'html'],
      // A failed test is no reason to keep the figures back.
      reportOnFailure: true,
    },
    projects: [
      project('unit', ['test/**/*.test.ts', 'test/cli/transcripts/*.md', 'test/sandbox/*.md'], {
        exclude: [...configDefaults.exclude, ...PROCESSES, `test/{${OTHERS}}/**`],
        // One process after another for 200 files would take longer to start than most of them take.
        isolate: false,
      }),
      project('processes', PROCESSES),
      project('contract', ['test/contract/*.test.ts'], { globalSetup: ['test/contract/install.ts'] }),
      project('proxy', ['test/proxy/*.test.ts']),
      project('page', ['test/page/*.test.ts'], { maxWorkers: 1 }),
      project('postgres', process.env.PROFILES_TEST_STATE ? ON_EITHER : ['test/postgres/*.test.ts'], {
        exclude: [...configDefaults.exclude, ...OF_FILES],
        globalSetup: ['test/support/postgres-setup.ts'],
        // Tests of the driver wait for locks to expire, and for a firewall.
        ...(!process.env.PROFILES_TEST_STATE && { maxWorkers: 4 }),
      }),
    ],
  },
});
