'use strict';
// Loads dist/ together with the code that V8 compiled for the same command before. Without it, a short
// command spends half of its time compiling. The code is kept in the package's own folder: whoever can write
// there can change the program itself. If that folder cannot be written, no code is kept. Node 22.1 and later
// have a compile cache of their own, which is used instead.
const { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { enableCompileCache } = module.constructor; // as node:module has it, which would load more
const { join } = require('node:path');
const { deserialize, serialize, setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

const DIST = join(__dirname, '../dist');
const CACHE = join(__dirname, '../node_modules/.cache');
/** Exit code of a usage error. Nothing is kept then: a mistyped word must not leave a file behind. */
const MISTYPED = 2;

/**
 * After more processor time than this, in microseconds, V8 has discarded much of the code that a start needs.
 */
const MUCH_WORK = 2_000_000;

/** zlib is loaded on first use, because `profiles --version` does not need it. */
const sumOf = (bytes) => require('node:zlib').crc32(bytes);

// Four times as much work as usual makes V8 of Node 20 optimize a function. With less, it compiles what a large import calls a
// few thousand times, on three threads, which takes a sixth of the processor's time.
if (!enableCompileCache) setFlagsFromString('--interrupt-budget=300000');

/** Loads a file of dist/, by its name, and returns its exports. */
exports.load = (name) => {
  if (enableCompileCache) {
    enableCompileCache(CACHE);
    return require(join(DIST, name));
  }
  // Each command has its own file of compiled code, because it uses other functions than the next command.
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

/** Replaces `require` for files of dist/. */
class Loader {
  /** Loaded files by name. `stamp` (size and CRC-32) identifies the content of a file. */
  files = new Map();
  /** Whether V8 had to compile a file, because no usable code was kept for it. */
  hasCompiled = false;

  constructor(kept) {
    this.kept = kept;
  }

  load(name) {
    const loaded = this.files.get(name);
    if (loaded) return loaded.module.exports;
    const filename = join(DIST, name);
    const source = readFileSync(filename);
    const stamp = `${source.length} ${sumOf(source)}`; // V8 compares only the length
    const cachedData = this.kept.read(name, stamp);
    const wrapped = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
    const script = new Script(wrapped, { filename, cachedData });
    // V8 rejects code that was compiled with other flags than this process has. Only the first file tells: an
    // import changes flags while it runs, so code of later files may be rejected although it suits the next
    // start.
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

/** A file of compiled code by name of its source, after a checksum: V8 would run damaged code without checking it. */
class KeptCode {
  #files = new Map();

  constructor(path) {
    this.path = path;
    try {
      const bytes = readFileSync(path);
      const files = bytes.subarray(4);
      if (bytes.readUInt32LE() === sumOf(files)) this.#files = deserialize(files);
    } catch {
      // There is no such file yet, or it is damaged: everything is compiled.
    }
  }

  read(name, stamp) {
    const kept = this.#files.get(name);
    return kept?.stamp === stamp ? kept.code : undefined;
  }

  write(loaded) {
    const files = new Map();
    for (const [name, { script, stamp }] of loaded)
      files.set(name, { stamp, code: script.createCachedData() });
    const bytes = serialize(files);
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(sumOf(bytes));
    const part = `${this.path}.${process.pid}`;
    try {
      mkdirSync(CACHE, { recursive: true });
      writeFileSync(part, Buffer.concat([sum, bytes]));
      renameSync(part, this.path);
    } catch {
      try {
        rmSync(part, { force: true });
      } catch {
        // The rest of a temporary file does no harm.
      }
    }
  }
}
