// Bundles src/ into dist/: an entry for each file that is started or imported by itself, and shared chunks,
// so that a command loads little of what others need.
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { build, transform } from 'esbuild';

/**
 * Leaves out parts of packages that are never used, but add milliseconds to a start: commander's subcommands
 * in processes of their own; undici's HTTP/2 (off by default) and bodies other than bytes; pg's search for a
 * password file, which `state/postgres/connect.ts` does.
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

/**
 * Replaces modules that are used only a little. Of node:http, undici needs only the limit of a reply's
 * headers (16 KiB unless a Node option sets it) and a class. The SQLite binding is found as Node finds
 * packages, but without the `exports` of its package.json, for which Node would compile an expression of 85
 * kB.
 * @type {import('esbuild').Plugin}
 */
const lighter = {
  name: 'lighter',
  setup({ onResolve, onLoad }) {
    const namespace = 'lighter';
    onResolve({ filter: /^node:http$/ }, ({ path, importer }) =>
      /[\\/]undici[\\/]/.test(importer) ? { path, namespace } : undefined,
    );
    onResolve({ filter: /^@photostructure\/sqlite$/ }, ({ path }) => ({ path, namespace }));
    onLoad({ filter: /^node:http$/, namespace }, () => ({
      contents: `const told = [...process.execArgv, process.env.NODE_OPTIONS].join(' ');
        exports.maxHeaderSize = Number(/--max-http-header-size[= ](\\d+)/.exec(told)?.[1] ?? 16_384);
        exports.IncomingMessage = class {};`,
    }));
    onLoad({ filter: /sqlite$/, namespace }, ({ path }) => ({
      contents: `const name = ${JSON.stringify(path)};
        const folders = require.resolve.paths(name).map((folder) => require('node:path').join(folder, name));
        module.exports = require(folders.find((folder) => require('node:fs').existsSync(folder)) ?? name);`,
    }));
  },
};

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
const MAIN = 'src/cli/main.ts';
const WORKER = 'src/engine/read/workers/worker.ts';
/**
 * Shared files by name, each with the module that decides what is in it. `base`, `options`, `rows`, and
 * `results`: what that module imports. `session`, `reading`, and `state`: what is loaded only together with
 * it. See `fileOf`.
 */
const FILES = {
  base: MAIN,
  options: 'src/cli/options/index.ts',
  rows: WORKER,
  session: 'src/engine/session.ts',
  reading: 'src/engine/read/index.ts',
  state: 'src/engine/state/state.ts',
  results: 'src/cli/commands/import-run.ts',
};
/** A module is in `options`, `rows`, or `shared` only if at least this many entries load it. */
const SHARED_BY = 10;

/**
 * Puts modules into shared files. Splitting alone makes many small files, and each adds to a start (figures:
 * bench/README.md). A first bundling shows which entries load a module. A module stays where splitting puts
 * it if another one in the file exports the same name. Modules that import packages are only in files that
 * are loaded with them.
 * @param {import('esbuild').Metafile} metafile of the first bundling
 * @returns {Promise<import('esbuild').Plugin>}
 */
async function together({ inputs, outputs }) {
  const loadedBy = new Map();
  for (const [file, { entryPoint }] of Object.entries(outputs)) {
    if (entryPoint === undefined) continue;
    const modules = [...staticClosure(file, outputs)].flatMap((chunk) => Object.keys(outputs[chunk].inputs));
    for (const module of modules) loadedBy.set(module, (loadedBy.get(module) ?? new Set()).add(entryPoint));
  }
  const isOurs = (module) => module.startsWith('src/');
  const needs = new Map([...loadedBy.keys()].map((module) => [module, staticClosure(module, inputs)]));
  const isLight = (module) => [...needs.get(module)].every(isOurs);
  const fileOf = (module, entries) => {
    const { base, options, rows, session, reading, state, results } = FILES;
    const isIn = (start) => needs.get(start).has(module) && isLight(module);
    const isWith = (start) => [...entries].every((entry) => loadedBy.get(start).has(entry));
    if (isIn(base)) return 'base';
    if (entries.size >= SHARED_BY && isIn(options)) return 'options';
    if (isWith(session)) return 'session';
    if (isWith(reading)) return 'reading';
    if (isWith(state)) return 'state';
    if (entries.size >= SHARED_BY && isIn(rows)) return 'rows';
    if (entries.size >= SHARED_BY && isLight(module)) return 'shared';
    return isIn(results) ? 'results' : null;
  };
  const groupOf = new Map();
  const exportsOf = await namesOf([...loadedBy.keys()].filter(isOurs));
  const taken = new Set();
  for (const [module, entries] of loadedBy) {
    const group = isOurs(module) && module !== MAIN && entries.size > 1 ? fileOf(module, entries) : null;
    if (group === null) continue;
    const names = exportsOf.get(module).map((name) => `${group} ${name}`);
    if (names.some((name) => taken.has(name))) continue;
    for (const name of names) taken.add(name);
    groupOf.set(resolve(module), group);
  }
  return {
    name: 'together',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, importer, kind, namespace }) => {
        if (!['import-statement', 'dynamic-import'].includes(kind) || namespace !== 'file') return undefined;
        const group = groupOf.get(join(dirname(importer), path).replace(/\.js$/, '.ts'));
        return group && group !== groupOf.get(importer) ? { path: group, namespace: 'together' } : undefined;
      });
      onLoad({ filter: /.*/, namespace: 'together' }, ({ path }) => ({
        contents: [...groupOf]
          .filter(([, group]) => group === path)
          .map(([module]) => `export * from ${JSON.stringify(module)};`)
          .join('\n'),
        resolveDir: process.cwd(),
      }));
    },
  };
}

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

/** The names that each module exports, by module. */
async function namesOf(modules) {
  const options = { entryPoints: modules, outdir: 'dist', format: 'esm', metafile: true, write: false };
  const { metafile } = await build(options);
  return new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [entryPoint, exports]));
}

/** Everything that static imports load with a file or module, including itself. */
function staticClosure(start, imports) {
  const found = new Set([start]);
  for (const file of found) {
    for (const { path, kind, external } of imports[file]?.imports ?? []) {
      if (kind === 'import-statement' && !external) found.add(path);
    }
  }
  return found;
}

/**
 * Bundles src/ in memory.
 * @returns {Promise<{ files: Map<string, string>, metafile: import('esbuild').Metafile }>} texts by file name
 */
export async function bundle() {
  const { version, dependencies } = JSON.parse(await readFile('package.json', 'utf8'));
  /** @type {import('esbuild').BuildOptions} */
  const options = {
    entryPoints: {
      main: MAIN,
      index: 'src/engine/index.ts',
      sandbox: 'src/sandbox/index.ts',
      worker: WORKER,
      'heart-worker': 'src/engine/state/postgres/heart-worker.ts',
    },
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    splitting: true,
    format: 'esm', // `asCommonJs` converts it later: esbuild splits only this format
    platform: 'node',
    // The `main` of jsonc-parser requires its parts by a variable, which no bundler can follow.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    ...STYLE,
    define: { PROFILES_VERSION: JSON.stringify(version), 'import.meta.url': FILE_URL },
    // The SQLite binding finds its prebuilt library beside its own files, so it stays a package.
    external: Object.keys(dependencies),
    plugins: [withoutUnused, lateStringWidth, lighter],
    metafile: true,
    write: false,
    logLevel: 'warning',
  };
  const first = await build(options);
  const { outputFiles, metafile } = await build({
    ...options,
    plugins: [...options.plugins, await together(first.metafile)],
  });
  const others = [await bundleWriter(options.external), await bundlePage()];
  const files = await Promise.all([
    ...outputFiles.map(async ({ path, text }) => [basename(path), await asCommonJs(text)]),
    ...others.flatMap((other) => other.outputFiles).map(({ path, text }) => [basename(path), text]),
    ...LIBRARIES.map((name) => [`${name}.js`, facade(name, metafile.outputs[`dist/${name}.cjs`].exports)]),
  ]);
  return {
    files: new Map(files),
    metafile: {
      inputs: Object.assign({}, metafile.inputs, ...others.map((other) => other.metafile.inputs)),
      outputs: Object.assign({}, metafile.outputs, ...others.map((other) => other.metafile.outputs)),
    },
  };
}

/** Bundles the thread that writes to the state. As one file, it uses 7 MB less than with shared files. */
function bundleWriter(external) {
  return build({
    entryPoints: { 'state-writer': 'src/engine/state/sqlite/writer-thread.ts' },
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    ...STYLE,
    external,
    plugins: [lighter],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
}

/** Bundles the sandbox's page for browsers: one module and one style sheet. */
function bundlePage() {
  return build({
    entryPoints: ['src/sandbox/page/client/page.tsx', 'src/sandbox/page/client/page.css'],
    entryNames: '[name]',
    outdir: 'dist',
    bundle: true,
    format: 'esm',
    platform: 'browser',
    // The oldest browsers with light-dark().
    target: ['chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
}
