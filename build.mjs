// Bundles src/ into dist/: one entry for the command, one for each thing that is loaded on its own.
// Code splitting keeps start-up short: `profiles --version` loads a few kilobytes.
import { readFile, rm } from 'node:fs/promises';
import { build } from 'esbuild';

const { version } = JSON.parse(await readFile('package.json', 'utf8'));
await rm('dist', { recursive: true, force: true });
await build({
  entryPoints: {
    main: 'src/main.ts',
    'batch-worker': 'src/input/batch-worker.ts',
  },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.20',
  minifySyntax: true,
  legalComments: 'none',
  define: { PROFILES_VERSION: JSON.stringify(version) },
  // The SQLite binding finds its prebuilt library beside its own files, so it stays a package.
  external: ['@photostructure/sqlite'],
  // Bundled CommonJS packages call require() for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
