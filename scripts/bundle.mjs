// What dist/ is made of: an entry for each thing that is started or imported on its own, and shared chunks.
// Code splitting keeps start-up short: `profiles --version` loads a few kilobytes.
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { build, transform } from 'esbuild';

/**
 * Parts of packages that are never used here, and cost every start that loads them some milliseconds: commander's
 * subcommands that are programs of their own; undici's HTTP/2, which it speaks only when it is told to, and what it
 * takes from fetch for bodies other than bytes; pg's own look for a password file, which `state/postgres/connect.ts` reads.
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
 * string-width asks ICU for a segmenter and compiles its expressions as it loads, 40 ms. Most text is measured
 * without it, so it is loaded by its first call.
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
 * Modules that cost a start more than what is used of them. Of node:http, undici wants the limit of a reply's headers, as
 * Node is told or else 16 KiB, and a class to compare with. The SQLite binding is found as Node finds packages, but without
 * the `exports` of its package.json: they make Node compile an expression of 85 kB.
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
  // Names stay as they are: a stack trace must say something.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none', // THIRD-PARTY-NOTICES holds them
};
/** Stands for `import.meta.url`. */
const FILE_URL = '__fileUrl';
/** Entries that other programs import. */
const LIBRARIES = ['index', 'sandbox'];
const MAIN = 'src/cli/main.ts';
const WORKER = 'src/engine/read/workers/worker.ts';
/** Whatever is loaded by the first three, and with nothing but the others, stands in a file each. */
const FILES = {
  base: MAIN,
  options: 'src/cli/options/index.ts',
  rows: WORKER,
  session: 'src/engine/session.ts',
  reading: 'src/engine/read/index.ts',
  state: 'src/engine/state/state.ts',
  results: 'src/cli/commands/import-run.ts',
};
/** A module that this many entries load is worth a place in the shared file. */
const SHARED_BY = 10;

/**
 * Which modules stand in one file: splitting alone makes a file of every few modules that two commands share, and each
 * costs a start (figures: bench/README.md). It is decided by a first bundling. A module that brings a package with it
 * is in no file that is loaded without it, and one that exports a name which another module of the file has stays where
 * splitting puts it.
 * @param {import('esbuild').Metafile} metafile
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

/**
 * A file of the bundle as CommonJS, which loads in half of the time of an ECMAScript module where its code is kept
 * compiled (bin/load.js).
 */
async function asCommonJs(text) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'neutral', // else it lists what is exported once more, for `import`
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

/**
 * esbuild exports a copy, whose getters all read `from[key]`: each use of another file's name was a slow look-up, in the
 * innermost loops too (figures: bench/README.md).
 */
const COPIED = 'module.exports=__toCommonJS(stdin_exports);';

/** What `import` finds of the library: Node tells the names of a CommonJS file by guessing. */
const facade = (name, names) =>
  `import all from './${name}.cjs';\nexport const { ${names.join(', ')} } = all;\n`;

/** What each module exports. */
async function namesOf(modules) {
  const options = { entryPoints: modules, outdir: 'dist', format: 'esm', metafile: true, write: false };
  const { metafile } = await build(options);
  return new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [entryPoint, exports]));
}

/** What is loaded with a file (or a module) by plain imports, itself included. */
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
 * @returns {Promise<{ files: Map<string, string>, metafile: import('esbuild').Metafile }>} texts by name
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
    format: 'esm', // `asCommonJs` follows: esbuild splits nothing else
    platform: 'node',
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

/** The thread that writes to the state: one file of what it uses takes 7 MB less than files that it shares. */
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

/** The sandbox's page: one module and one style sheet for a browser, beside the rest. */
function bundlePage() {
  return build({
    entryPoints: ['src/sandbox/page/client/page.tsx', 'src/sandbox/page/client/page.css'],
    entryNames: '[name]',
    outdir: 'dist',
    bundle: true,
    format: 'esm',
    platform: 'browser',
    // What knows light-dark().
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
