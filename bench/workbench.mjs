// What the sections share: the built command, input files, state folders, and the sink.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, statfs } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generate } from './generate.mjs';
import { writeWorkbook } from './generate-workbook.mjs';
import { cleanEnvironment, node } from './measure.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Git-ignored: input, state, and what peers need. */
export const DATA = here('data');
const BUILT = join(DATA, 'built');
export const PROFILES = join(BUILT, 'bin', 'profiles.js');
const TOKEN = 'benchmark-token';

/** Requests of 1,000 rows, eight in flight, no job followed. */
export const FAST = ['--concurrency', '8', '--chunk-size', '1000', '--no-wait'];

/** A copy of the build: a build in the middle of a long run must not change what is measured. */
export async function keepBuild() {
  if (!existsSync(here('../dist/main.cjs'))) throw new Error('nothing is built: npm run build');
  await rm(BUILT, { recursive: true, force: true });
  await mkdir(BUILT, { recursive: true });
  for (const folder of ['bin', 'dist'])
    await cp(here(`../${folder}`), join(BUILT, folder), { recursive: true });
}

/** Bytes of a generated row, rounded up. */
const ROW_BYTES = { csv: 190, ndjson: 340, json: 340 };

/** A file below `DATA`, made once. @throws NoRoom when the disk has not twice the room */
async function made(name, bytes, make) {
  const file = join(DATA, name);
  if (existsSync(file)) return file;
  await room(bytes);
  console.error(`  making ${file}`);
  await make(`${file}.part`);
  await rename(`${file}.part`, file);
  return file;
}

/** A generated input file. */
export const input = (format, rows) =>
  made(`companies-${rows}.${format}`, rows * ROW_BYTES[format], (part) => generate(format, rows, part));

/** A package that only some sections need, installed beside the data. */
async function installed(name, version) {
  const folder = join(DATA, name.replace('/', '-'));
  if (!existsSync(join(folder, 'node_modules', name))) {
    const words = ['install', '--no-audit', '--no-fund', '--prefix', folder, `${name}@${version}`];
    await promisify(execFile)('npm', words);
  }
  return createRequire(join(folder, 'from.js'))(name);
}

/** The same rows as a workbook. */
export const workbook = (rows) =>
  made(`companies-${rows}.xlsx`, rows * ROW_BYTES.csv, async (part) =>
    writeWorkbook(await installed('yazl', '3.3.1'), rows, part),
  );

/** The same rows as Parquet, written by DuckDB. */
export const parquet = (rows) =>
  made(`companies-${rows}.parquet`, rows * ROW_BYTES.csv, async (part) => {
    const csv = await input('csv', rows);
    const { DuckDBInstance } = await installed('@duckdb/node-api', '1.5.6-r.1');
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const text = "types = {'adoption_rate': 'VARCHAR', 'last_seen_at': 'VARCHAR'}";
    await connection.run(`COPY (SELECT * FROM read_csv('${csv}', ${text})) TO '${part}' (FORMAT parquet)`);
  });

/** The CSV in which every n-th row has another `last_seen_at`. */
export const changedInput = (rows, every) =>
  made(`companies-${rows}-changed-${every}.csv`, rows * ROW_BYTES.csv, async (part) => {
    async function* lines() {
      let row = -1; // the header is none
      for await (const line of createInterface({ input: createReadStream(await input('csv', rows)) })) {
        const changed = row >= 0 && row % every === 0 ? line.replace(/\.000Z$/, '.001Z') : line;
        yield `${changed}\n`;
        row++;
      }
    }
    await pipeline(lines, createWriteStream(part));
  });

/** @throws NoRoom when the disk has not twice the room */
async function room(bytes) {
  await mkdir(DATA, { recursive: true });
  const { bavail, bsize } = await statfs(DATA);
  if (bavail * bsize < 2 * bytes)
    throw new NoRoom(`the disk has not ${Math.round((2 * bytes) / 2 ** 20)} MB free`);
}

export class NoRoom extends Error {}

/** A new folder beside the data, on the same disk for all runs; `from` is copied into it. */
export async function stateFolder(from) {
  await mkdir(DATA, { recursive: true });
  const folder = await mkdtemp(join(DATA, 'state-'));
  if (from) await cp(from, folder, { recursive: true });
  return folder;
}

/** Uses a state folder of its own and removes it. */
export async function withState(use, from) {
  const folder = await stateFolder(from);
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The command, measured. `state` is its folder; what it records goes there, or to a `database` (its URL has a password). */
export const profiles = (args, { state, database, url, script = PROFILES, ...options }) =>
  node(script, [...args, ...(database ? [] : ['--state', state]), ...(url ? ['--base-url', url] : [])], {
    cwd: state,
    env: {
      PROFILES_TOKEN: TOKEN,
      XDG_CONFIG_HOME: join(state, 'config'),
      ...(database && { PROFILES_STATE: database }),
    },
    ...options,
  });

/** `profiles import`, quietly, each time with a new state. */
export const importOnce = (file, flags, url) => () =>
  withState((state) => profiles(['import', file, ...flags, '--quiet'], { state, url }));

/** `profiles import`, each time with a new state. `sending`: from its plan to its summary, in milliseconds. */
export const importTimed = (file, url) => () =>
  withState(async (state) => {
    const sample = await profiles(['import', file, ...FAST, '--ndjson'], { state, url, stdout: true });
    const events = sample.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const at = (type) => Date.parse(events.find((event) => event.type === type).time);
    return { ...sample, stdout: '', sending: at('summary') - at('plan') };
  });

/** A server of its own process that prints where it listens. `ready` finds the address in what it prints. */
export async function startServer(script, args, { ready = /http:\/\/\S+/, env = {}, cwd } = {}) {
  const started = performance.now();
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more) => {
    text += more;
  });
  while (!ready.test(text)) {
    if (child.exitCode !== null) throw new Error(`${script} ended with ${child.exitCode}`);
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  }
  return {
    pid: child.pid,
    text: () => text,
    readyAfter: performance.now() - started,
    /** Ends it, by a signal or by the end of its input, and gives all it printed. */
    stop: async (signal) => {
      const closed = once(child, 'close');
      if (signal) child.kill(signal);
      else child.stdin.end();
      await closed;
      return text;
    },
  };
}

/** A server in this process, which has nothing else to do in the meantime. */
export async function listen(answer) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The sink (`sink.mjs`); `stop` gives what it received. */
export async function startSink({ latency = 0, count = false } = {}) {
  const server = await startServer(here('sink.mjs'), ['0', String(latency), ...(count ? ['count'] : [])]);
  const url = server.text().trim().split('\n')[0];
  return { url, stop: async () => JSON.parse((await server.stop()).trim().split('\n').at(-1)) };
}

/** Uses a sink, and checks that it received so many requests: no figure for work that was not done. */
export async function withSink(options, expected, use) {
  const sink = await startSink(options);
  let result;
  try {
    result = await use(sink.url);
  } catch (error) {
    await sink.stop();
    throw error;
  }
  const { requests } = await sink.stop();
  if (expected !== null && requests !== expected) {
    throw new Error(`the sink received ${requests} requests, expected ${expected}`);
  }
  return result;
}
