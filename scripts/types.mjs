// Makes the published types: one declaration file for each entry, with only what its exports need. tsc writes
// a file for every module. Here, the declarations that an entry needs are put together, so that the types do
// not refer to bundled packages, which are not installed with this one.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Types that the sources infer from schemas, and where they are written out. A test compares the two. */
const WRITTEN_OUT = new Map([['engine/service/contract.d.ts Job', 'engine/library/records.d.ts']]);

/**
 * @typedef {{ from: string, name: string }} Source A name in a module below src/, or in a package
 * @typedef {object} Module
 * @property {string} head the comment at the start of the file
 * @property {Map<string, string>} declared text of each declaration by name
 * @property {Set<string>} exported names of declarations that are exported
 * @property {Map<string, Source>} imports by local name
 * @property {Map<string, Source>} reexports by exported name
 * @property {string[]} stars files of which all is exported
 */

/**
 * @param {Record<string, string>} entries the entry below src/ for each file
 * @returns {Promise<Record<string, string>>} the text of each file
 */
export async function declarations(entries) {
  const root = await mkdtemp('node_modules/.types-'); // tsc looks for the types of Node from there upwards
  try {
    const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json', '--outDir', root];
    await promisify(execFile)(process.execPath, tsc).catch((error) => {
      throw new Error(`tsc: ${error.stdout || error.message}`);
    });
    const files = Object.entries(entries).map(async ([file, entry]) => [
      file,
      await assemble(root, entry.replace(/\.ts$/, '.d.ts')),
    ]);
    return Object.fromEntries(await Promise.all(files));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** @param {string} root @param {string} entry */
async function assemble(root, entry) {
  /** @type {Map<string, Module>} */
  const modules = new Map();
  /** @type {Map<string, { from: string, text: string }>} */
  const taken = new Map();
  const packages = new Map();

  /** @param {string} file */
  async function load(file) {
    const known = modules.get(file);
    if (known) return known;
    const module = parse(await readFile(join(root, file), 'utf8'), file);
    modules.set(file, module);
    return module;
  }

  /** Adds a declaration, and all others that it refers to. @param {Source} source */
  async function take({ from: given, name }) {
    const from = WRITTEN_OUT.get(`${given} ${name}`) ?? given;
    if (!from.endsWith('.d.ts')) {
      if (!from.startsWith('node:')) throw new Error(`${entry} reaches ${name} of "${from}"`);
      packages.set(name, from);
      return;
    }
    const { declared, imports, reexports, stars } = await load(from);
    const text = declared.get(name);
    if (text === undefined) {
      let source = reexports.get(name) ?? imports.get(name);
      for (const star of stars) if ((await load(star)).declared.has(name)) source ??= { from: star, name };
      if (!source) throw new Error(`${from} has no ${name}`);
      await take(source);
      return;
    }
    const before = taken.get(name);
    if (before && before.from !== from)
      throw new Error(`${entry}: two ${name}, of ${before.from} and ${from}`);
    if (before) return;
    taken.set(name, { from, text });
    for (const word of words(text)) {
      const source = declared.has(word) ? { from, name: word } : imports.get(word);
      if (source) await take(source);
    }
  }

  const { head, exported, reexports } = await load(entry);
  const published = new Set([...exported, ...reexports.keys()]);
  if (published.size === 0) throw new Error(`${entry} exports nothing`);
  for (const name of published) await take({ from: entry, name });
  return [
    head,
    ...[...packages].map(([name, from]) => `import type { ${name} } from '${from}';\n`),
    ...[...taken].map(([name, { text }]) => (published.has(name) ? text : text.replace(/^export /m, ''))),
    'export {};\n', // without this, every declaration would count as exported
  ].join('');
}

const COMMENT = String.raw`(?:/\*\*(?:(?!\*/)[\s\S])*\*/\n)`;
const START = String.raw`^${COMMENT}?(?:import|export|declare|interface|type|abstract|class)\b`;
/** A declaration begins at the left margin, and ends where the next one (or its comment) begins. */
const DECLARATION = new RegExp(String.raw`${START}[\s\S]*?(?=${START}|$(?![\s\S]))`, 'gm');

/** Parses a declaration file in the form that tsc writes. @returns {Module} */
function parse(text, file) {
  const [imports, reexports, declared] = [new Map(), new Map(), new Map()];
  const module = { head: '', declared, exported: new Set(), imports, reexports, stars: [] };
  const fileOf = (path) =>
    path.startsWith('.') ? join(dirname(file), path.replace(/\.js$/, '.d.ts')) : path;
  const [head] = new RegExp(`^${COMMENT}`).exec(text) ?? [''];
  for (const piece of text.match(DECLARATION) ?? []) {
    const list = /^(import|export) (?:type )?\{([^}]*)\} from '([^']+)';/m.exec(piece);
    const declaration =
      /^(export )?(?:declare )?(?:abstract )?(?:const|function|class|interface|type) ([\w$]+)/m.exec(piece);
    if (list) {
      const [, word, names, path] = list;
      if (piece.startsWith(head)) module.head = head; // the comment of the file comes before its imports
      const from = fileOf(path);
      for (const [, name, alias = name] of names.matchAll(/(?:type )?([\w$]+)(?: as ([\w$]+))?(?:,|\s*$)/g)) {
        (word === 'import' ? imports : reexports).set(alias, { from, name });
      }
    } else if (/^export \* /m.test(piece)) {
      module.stars.push(fileOf(/'([^']+)'/.exec(piece)[1]));
    } else if (declaration) {
      const [, exported, name] = declaration;
      declared.set(name, (declared.get(name) ?? '') + piece);
      if (exported) module.exported.add(name);
    } else if (!/^(?:import .*|export \{\});$/m.test(piece)) {
      throw new Error(`${file}: not understood: ${piece}`);
    }
  }
  return module;
}

/** All words that may be names to which a declaration refers. */
function words(text) {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/'(?:[^'\\]|\\.)*'/g, '');
  return new Set(code.match(/[A-Za-z_$][\w$]*/g));
}
