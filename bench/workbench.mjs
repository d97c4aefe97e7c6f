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
import { node } from './measure.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Git-ignored: input, state, and what peers need. */
export const DATA = here('data');
await mkdir(DATA, { recursive: true });
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

/** The most bytes of a generated row. */
const ROW_BYTES = 450;

/** A file below `DATA`, made once. @throws Error when the disk has not twice the room */
async function made(name, rows, make) {
  const file = join(DATA, name);
  if (existsSync(file)) return file;
  const { bavail, bsize } = await statfs(DATA);
  const bytes = 2 * rows * ROW_BYTES;
  if (bavail * bsize < bytes) throw new Error(`the disk has less than ${bytes} bytes free`);
  console.error(`  making ${file}`);
  await make(`${file}.part`);
  await rename(`${file}.part`, file);
  return file;
}

/** A generated input file. */
export const input = (format, rows) =>
  made(`companies-${rows}.${format}`, rows, (part) => generate(format, rows, part));

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
  made(`companies-${rows}.xlsx`, rows, async (part) =>
    writeWorkbook(await installed('yazl', '3.3.1'), rows, part),
  );

/** The same rows as Parquet, written by DuckDB. */
export const parquet = (rows) =>
  made(`companies-${rows}.parquet`, rows, async (part) => {
    const csv = await input('csv', rows);
    const { DuckDBInstance } = await installed('@duckdb/node-api', '1.5.6-r.1');
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const text = "types = {'adoption_rate': 'VARCHAR', 'last_seen_at': 'VARCHAR'}";
    await connection.run(`COPY (SELECT * FROM read_csv('${csv}', ${text})) TO '${part}' (FORMAT parquet)`);
  });

/** The CSV in which every n-th row has another `last_seen_at`. */
export const changedInput = (rows, every) =>
  made(`companies-${rows}-changed-${every}.csv`, rows, async (part) => {
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

/** A new state folder beside the data, on the same disk for all runs; `from` is copied into it. */
async function newState(from) {
  const folder = await mkdtemp(join(DATA, 'state-'));
  if (from) await cp(from, folder, { recursive: true });
  return folder;
}

const remove = (folder) => rm(folder, { recursive: true, force: true });

/** A state folder until the section ends. `after` takes what is to be done then. */
export async function stateOf(after) {
  const folder = await newState();
  after(() => remove(folder));
  return folder;
}

/** Uses a state folder of its own and removes it. */
export async function withState(use, from) {
  const folder = await newState(from);
  try {
    return await use(folder);
  } finally {
    await remove(folder);
  }
}

/** The command, measured. `state` is its folder; what it records goes there, or to a `database` (its URL has a password). */
export const profiles = (args, { state, database, url, authority, script = PROFILES, ...options }) =>
  node(script, [...args, ...(database ? [] : ['--state', state]), ...(url ? ['--base-url', url] : [])], {
    cwd: state,
    env: {
      PROFILES_TOKEN: TOKEN,
      XDG_CONFIG_HOME: join(state, 'config'),
      ...(database && { PROFILES_STATE: database }),
      ...(authority && { NODE_EXTRA_CA_CERTS: authority }),
    },
    ...options,
  });

/**
 * `profiles import` with `rows` rows, of which `sent` are sent, each time with a new state, or a copy of `from`. With
 * `sending`, its time is that from the plan's event to the summary's.
 */
export const importOnce =
  (file, flags, { rows, sent = rows, from, sending, ...options }) =>
  () =>
    withState(async (state) => {
      const words = ['import', file, ...flags, '--ndjson'];
      const { stdout, ...sample } = await profiles(words, { state, stdout: true, ...options });
      const events = stdout.trim().split('\n');
      const [last, plan] = [events.at(-1), events.find((line) => line.startsWith('{"type":"plan"'))].map(
        JSON.parse,
      );
      const { read, submitted } = last.rows;
      const expected = flags.includes('--dry-run') ? 0 : sent;
      if (read !== rows || submitted !== expected)
        throw new Error(
          `${words.join(' ')} read ${read} rows and sent ${submitted}, not ${rows} and ${expected}`,
        );
      return sending ? { ...sample, wall: Date.parse(last.time) - Date.parse(plan.time) } : sample;
    }, from);

/** A state folder that has seen all rows completed, until the section ends. */
export async function completed({ rows, url, after, states }, flags = []) {
  const state = await stateOf(after);
  console.error(`  completing ${rows} rows ${flags.join(' ')}`);
  const words = ['import', await input('csv', rows), '--concurrency', '8', '--quiet', ...flags];
  await profiles(words, { state, url });
  states.push(state);
  return state;
}

/** A service in this process that says when the first bytes of a request arrive. */
export async function listenForFirst(after) {
  let arrived = () => {};
  const server = createServer((request, response) => {
    arrived(performance.timeOrigin + performance.now());
    request.resume().on('end', () => {
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end('{"job_id":"1","status":"queued"}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    next: () => new Promise((resolve) => (arrived = resolve)),
  };
}

/** The sink (`sink.mjs`), until the section ends. `stop` ends it earlier, and gives what it received. */
export async function startSink(after, { latency = 0, count = false, tls = false } = {}) {
  const words = [here('sink.mjs'), String(latency), ...(count ? ['count'] : []), ...(tls ? ['tls'] : [])];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value: url } = await lines.next();
  after(() => child.kill());
  return {
    url,
    ...(tls && { authority: here('../test/engine/service/certs/authority.pem') }),
    stop: async () => {
      child.stdin.end();
      return JSON.parse((await lines.next()).value);
    },
  };
}
