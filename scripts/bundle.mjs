// What dist/ is made of: an entry for each thing that is started or imported on its own, and shared chunks.
// Code splitting keeps start-up short: `profiles --version` loads a few kilobytes.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { build } from 'esbuild';

/**
 * commander starts subcommands that are programs of their own with node:child_process. There are none here, and
 * loading it costs every start some milliseconds.
 * @type {import('esbuild').Plugin}
 */
const noChildProcess = {
  name: 'no-child-process',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer, path }) =>
      /[\\/]commander[\\/]/.test(importer) ? { path, namespace: 'empty' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: '' }));
  },
};

/**
 * Bundles src/ in memory.
 * @returns {Promise<{ files: Map<string, string>, metafile: import('esbuild').Metafile }>} texts by name
 */
export async function bundle() {
  const { version, dependencies } = JSON.parse(await readFile('package.json', 'utf8'));
  const { outputFiles, metafile } = await build({
    entryPoints: {
      main: 'src/main.ts',
      index: 'src/index.ts',
      sandbox: 'src/sandbox/index.ts',
      'batch-worker': 'src/input/batch-worker.ts',
    },
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.20',
    // Names stay as they are: a stack trace must say something.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none', // THIRD-PARTY-NOTICES holds them
    define: { PROFILES_VERSION: JSON.stringify(version) },
    // The SQLite binding finds its prebuilt library beside its own files, so it stays a package.
    external: Object.keys(dependencies),
    // Bundled CommonJS packages call require() for Node's own modules.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    plugins: [noChildProcess],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  return { files: new Map(outputFiles.map(({ path, text }) => [basename(path), text])), metafile };
}
