// Bundles src/ into dist/: an entry for each file that is started or imported by itself, and shared chunks,
// so that a command loads little of what others need.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { build, transform } from 'esbuild';

/** The part of undici's index that src/ uses. As in the index, requests through agents need `lib/api`. */
const UNDICI = `
const withApi = (agent) => {
  Object.assign(require('./lib/dispatcher/dispatcher').prototype, require('./lib/api'));
  return agent;
};
module.exports = {
  get Client() { return require('./lib/dispatcher/client'); },
  get Pool() { return require('./lib/dispatcher/pool'); },
  get Agent() { return withApi(require('./lib/dispatcher/agent')); },
  get EnvHttpProxyAgent() { return withApi(require('./lib/dispatcher/env-http-proxy-agent')); },
  get Socks5ProxyAgent() { return require('./lib/dispatcher/socks5-proxy-agent'); },
  get buildConnector() { return require('./lib/core/connect'); },
};`;

/**
 * Leaves out parts of packages that are never used, but add milliseconds to a start: commander's subcommands
 * in processes of their own; undici's fetch, caches, and mocks, HTTP/2 (off by default), and bodies other than bytes;
 * pg's search for a password file, which `state/postgres/connect.ts` does.
 * @type {import('esbuild').Plugin}
 */
const withoutUnused = {
  name: 'without-unused',
  setup({ onResolve, onLoad }) {
    const unused = [
      { filter: /^node:child_process$/, of: /[\\/]commander[\\/]/ },
      { filter: /^\.\/client-h2\.js$/, of: /[\\/]undici[\\/]/ },
      { filter: /^pgpass$/, of: /[\\/]pg[\\/]/ },
      { filter: /^\.\.\/web\/fetch\/body\.js$/, of: /[\\/]undici[\\/].*client-h1\.js$/ },
    ];
    for (const { filter, of } of unused) {
      onResolve({ filter }, ({ importer, path }) =>
        of.test(importer) ? { path, namespace: 'empty' } : undefined,
      );
    }
    onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: '' }));
    onLoad({ filter: /[\\/]undici[\\/]index\.js$/ }, () => ({ contents: UNDICI }));
  },
};

/**
 * Loads string-width at its first call: that takes 40 ms, and most text is measured without it.
 * @type {import('esbuild').Plugin}
 */
const lateStringWidth = {
  name: 'late-string-width',
  setup({ onResolve, onLoad }) {
    const namespace = 'late';
    onResolve({ filter: /^string-width$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace } : undefined,
    );
    onLoad({ filter: /.*/, namespace }, () => ({
      contents: "export default (text) => require('string-width').default(text);",
      resolveDir: process.cwd(),
    }));
  },
};

/** What all builds have in common. @type {import('esbuild').BuildOptions} */
const BUILD = { outdir: 'dist', bundle: true, metafile: true, write: false, logLevel: 'warning' };
/** @type {import('esbuild').TransformOptions} */
const STYLE = {
  target: 'node20.20',
  // Names are not shortened, so that stack traces can be read.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none', // THIRD-PARTY-NOTICES has them
};
/** Replaces `import.meta.url`. */
const FILE_URL = '__fileUrl';
/** Entries that programs import. */
const LIBRARIES = ['index', 'sandbox'];
/** Converts a file to CommonJS, which loads in half the time of an ECMAScript module (with bin/load.js). */
async function asCommonJs(text) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'neutral', // otherwise it lists all exports again, for `import`
    ...STYLE,
    supported: { 'dynamic-import': false }, // becomes require()
    banner: text.includes(FILE_URL)
      ? `const ${FILE_URL}=require("node:url").pathToFileURL(__filename).href;`
      : '',
  });
  return code.replace(
    COPIED,
    '__defProp(stdin_exports,"__esModule",{value:!0});module.exports=stdin_exports;',
  );
}

/** esbuild exports a copy with slow getters, which would run even in innermost loops (bench/README.md). */
const COPIED = 'module.exports=__toCommonJS(stdin_exports);';

/** The module for `import`, with a list of exports: Node can only guess those of a CommonJS file. */
const facade = (name, names) =>
  `import all from './${name}.cjs';\nexport const { ${names.join(', ')} } = all;\n`;

/**
 * Bundles src/ in memory.
 * @returns {Promise<{ files: Map<string, string>, metafile: import('esbuild').Metafile }>} texts by file name
 */
export async function bundle() {
  const { version, dependencies } = JSON.parse(await readFile('package.json', 'utf8'));
  /** @type {import('esbuild').BuildOptions} */
  const options = {
    entryPoints: {
      main: 'src/cli/main.ts',
      index: 'src/engine/index.ts',
      sandbox: 'src/sandbox/index.ts',
      worker: 'src/engine/read/workers/worker.ts',
      'arrow-worker': 'src/engine/read/parquet/arrow-worker.ts',
      'heart-worker': 'src/engine/state/postgres/heart-worker.ts',
    },
    ...BUILD,
    outExtension: { '.js': '.cjs' },
    splitting: true,
    format: 'esm', // `asCommonJs` converts it later: esbuild splits only this format
    platform: 'node',
    // The `main` of jsonc-parser requires its parts by a variable, which no bundler can follow.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    ...STYLE,
    define: { PROFILES_VERSION: JSON.stringify(version), 'import.meta.url': FILE_URL },
    // The SQLite binding finds its prebuilt library beside its own files, so it stays a package.
    external: Object.keys(dependencies),
    plugins: [withoutUnused, lateStringWidth],
  };
  const [{ outputFiles, metafile }, page] = await Promise.all([build(options), bundlePage()]);
  const files = await Promise.all([
    ...outputFiles.map(async ({ path, text }) => [basename(path), await asCommonJs(text)]),
    ['parquet_wasm_bg.wasm', await readFile('node_modules/parquet-wasm/node/parquet_wasm_bg.wasm')],
    ...page.outputFiles.map(({ path, text }) => [basename(path), text]),
    ...LIBRARIES.map((name) => [`${name}.js`, facade(name, metafile.outputs[`dist/${name}.cjs`].exports)]),
  ]);
  return {
    files: new Map(files),
    metafile: {
      inputs: { ...metafile.inputs, ...page.metafile.inputs },
      outputs: { ...metafile.outputs, ...page.metafile.outputs },
    },
  };
}

/** Bundles the sandbox's page for browsers: one module and one style sheet. */
function bundlePage() {
  return build({
    entryPoints: ['src/sandbox/page/client/page.tsx', 'src/sandbox/page/client/page.css'],
    entryNames: '[name]',
    ...BUILD,
    format: 'esm',
    platform: 'browser',
    // The oldest browsers with light-dark().
    target: ['chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
  });
}
