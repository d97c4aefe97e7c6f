'use strict';
// Loads the program with what V8 compiled of it before: without, a short command spends half of its time compiling. The
// code is kept in the package's own folder, where nobody can put code who could not change the program itself. Where
// that folder cannot be written, nothing is kept. Node does the same by itself from 22.1 on.
const {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');
const { Script } = require('node:vm');

const DIST = join(__dirname, '../dist');
const CACHE = join(__dirname, '../node_modules/.cache');
/** Exit code of a usage error. */
const MISTYPED = 2;

/** After more work than this, V8 has let go of much that only a start needs, microseconds of processor time. */
const MUCH_WORK = 2_000_000;

/** Loaded by those who need it: what only prints a line starts without. */
const sumOf = (bytes) => require('node:zlib').crc32(bytes);

/** What a file of dist/ exports. */
exports.load = (name) => {
  if (enableCompileCache) {
    enableCompileCache(CACHE);
    return require(join(DIST, name));
  }
  // A command has a file of its own: it compiles other functions than the next one.
  const word = /^(?:--help|[a-z]+)$/.exec(process.argv[2] ?? '')?.[0];
  if (word === undefined) return require(join(DIST, name));
  const kept = new KeptCode(join(CACHE, `profiles-${process.version}-${process.arch}-${word}`));
  const loader = new Loader(kept);
  process.once('exit', (code) => {
    const { user, system } = process.cpuUsage();
    const isWorthIt = code !== MISTYPED && user + system < MUCH_WORK;
    if (loader.hasCompiled && isWorthIt) kept.write(loader.files);
  });
  return loader.load(name);
};

/** `require` within dist/. */
class Loader {
  /** By name. `stamp` tells one version of a file from another. */
  files = new Map();
  /** Whether there was a file of which no code was kept. */
  hasCompiled = false;

  constructor(kept) {
    this.kept = kept;
  }

  load(name) {
    const loaded = this.files.get(name);
    if (loaded) return loaded.module.exports;
    const filename = join(DIST, name);
    const source = readFileSync(filename);
    const stamp = `${source.length} ${sumOf(source)}`; // V8 looks at the length alone
    const cachedData = this.kept.read(name, stamp);
    const wrapped = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
    const script = new Script(wrapped, { filename, cachedData });
    // The first file shows whether it suits the flags of this start. Later ones are refused while a run sets its own.
    const isRefused = script.cachedDataRejected && this.files.size === 0;
    this.hasCompiled ||= cachedData === undefined || isRefused;
    const module = { exports: {} };
    this.files.set(name, { module, script, stamp });
    const requireThere = (id) => (id.startsWith('./') ? this.load(id.slice(2)) : require(id));
    requireThere.resolve = require.resolve;
    try {
      script.runInThisContext()(module.exports, requireThere, module, filename, DIST);
    } catch (error) {
      this.files.delete(name);
      throw error;
    }
    return module.exports;
  }
}

/** A file of compiled code: the length of an index in 4 bytes, the index as JSON, and the code of one file after the other. */
class KeptCode {
  #index = {};
  /** Open as long as the program runs: what is loaded with the first use is read then, and none of it stays in memory. */
  #file;
  #size;
  #start;

  constructor(path) {
    this.path = path;
    try {
      this.#file = openSync(path);
      this.#size = fstatSync(this.#file).size;
      this.#start = 4 + this.#bytes(0, 4).readUInt32LE(0);
      this.#index = JSON.parse(this.#bytes(4, this.#start).toString('latin1'));
    } catch {
      // There is none yet.
    }
  }

  read(name, stamp) {
    const entry = this.#index[name];
    if (entry?.stamp !== stamp) return undefined;
    try {
      const code = this.#bytes(this.#start + entry.from, this.#start + entry.to);
      // V8 would run whatever it gets.
      return sumOf(code) === entry.sum ? code : undefined;
    } catch {
      return undefined; // damaged
    }
  }

  #bytes(from, to) {
    if (to > this.#size) throw new RangeError('beyond its end');
    const bytes = Buffer.alloc(to - from);
    readSync(this.#file, bytes, 0, bytes.length, from);
    return bytes;
  }

  write(loaded) {
    if (this.#file !== undefined) closeSync(this.#file); // Windows does not replace an open one
    const files = {};
    const parts = [];
    let from = 0;
    for (const [name, { script, stamp }] of loaded) {
      const code = script.createCachedData();
      files[name] = { stamp, from, to: from + code.length, sum: sumOf(code) };
      from += code.length;
      parts.push(code);
    }
    const index = Buffer.from(JSON.stringify(files), 'latin1');
    const start = Buffer.alloc(4);
    start.writeUInt32LE(index.length);
    const part = `${this.path}.${process.pid}`;
    try {
      mkdirSync(CACHE, { recursive: true });
      writeFileSync(part, Buffer.concat([start, index, ...parts]));
      renameSync(part, this.path);
    } catch {
      try {
        rmSync(part, { force: true });
      } catch {
        // It is in nobody's way.
      }
    }
  }
}
