// Other importers with the same file against the same sink. Each is first run against a sink that counts, so
// that its figure stands for all rows sent. What it does more or less than ours is said beside it.
//   node bench/peers.mjs elastic <file> <url>   the program around Elasticsearch's client, in the folder that it is installed in
import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { interleave, node, run } from './measure.mjs';
import { comparison, table } from './report.mjs';
import { DATA, FAST, importOnce, input, startSink } from './workbench.mjs';

const FOLDER = join(DATA, 'peers');
const NPM = {
  'mixpanel-import': '3.1.43',
  elasticdump: '6.125.1',
  '@elastic/elasticsearch': '8.19.2',
  'csv-parse': '7.0.3',
};
const DEBIAN = 'miller parallel jq curl';
const TOOLS = 'miller, parallel, jq, curl';
const OURS = 'profiles import';
const THIS = fileURLToPath(import.meta.url);
const REDIRECT = join(FOLDER, 'redirect.cjs');
const words = (text) => text.split(' ');

/** Preloaded into mixpanel-import, whose hosts are written into it: its connections go to the sink instead, without TLS. */
const REDIRECTED = `const Module = require('node:module');
const load = Module._load;
Module._load = function (name, ...rest) {
  const found = load.call(this, name, ...rest);
  if (name !== 'undici') return found;
  return { ...found, Pool: class extends found.Pool {
    constructor(_, options) { super(process.env.BENCH_SINK, options); }
  } };
};`;

/** What people build from Debian's own tools: CSV to JSON Lines, about 1,000 rows to a request, eight in flight. */
const PIPELINE = `set -euo pipefail
mlr --icsv --ojsonl cat "$1" |
  parallel --will-cite --pipe --block 325k --jobs 8 "
    jq --compact-output --slurp '{companies: map({company_id, metadata: del(.company_id)})}' |
      curl --silent --show-error --fail --output /dev/null \
        --header 'Content-Type: application/json' --header 'Authorization: Token t' \
        --data-binary @- '$2/v1/companies/bulk_identify'"`;

/** What one writes by hand: the bulk helper of Elasticsearch's own client over a stream of csv-parse. */
async function elastic(file, url) {
  const require = createRequire(join(process.cwd(), 'package.json'));
  const client = new (require('@elastic/elasticsearch').Client)({ node: url });
  const { failed } = await client.helpers.bulk({
    datasource: createReadStream(file).pipe(require('csv-parse').parse({ columns: true })),
    onDocument: ({ company_id }) => ({ index: { _index: 'companies', _id: company_id } }),
    flushBytes: 380_000, // about 1,000 rows, as the others send
    concurrency: 8,
    refreshOnCompletion: false,
  });
  await client.close();
  process.exitCode = failed > 0 ? 1 : 0;
}

/** `send` runs it once; `about` says what its figure does and does not stand for. */
const PEERS = {
  [OURS]: {
    send: (file, url, rows) => importOnce(file, FAST, { rows, url })(),
    about:
      'Reads the file twice: checks and types every row before the first is sent, looks for duplicates, then sends. Records each request before and after with a synchronous commit.',
  },
  'mixpanel-import': {
    send: (file, url) =>
      node(
        join(FOLDER, 'node_modules/mixpanel-import/index.js'),
        [
          file,
          ...words('--type user --format csv --token t --workers 8 --batch 1000'),
          ...words('--fastMode --no-compress --no-logs --abridged'),
        ],
        { cwd: FOLDER, env: { BENCH_SINK: url }, preload: REDIRECT },
      ),
    about:
      'In its fast mode, which sends rows as they were parsed: one pass, every value as text, no identifier looked for, nothing recorded, no resume. It measures each row as JSON for its byte limit. Its hosts are written into it; its connections are led to the sink, without TLS.',
  },
  elasticdump: {
    send: (file, url) =>
      node(
        join(FOLDER, 'node_modules/elasticdump/bin/elasticdump'),
        [
          `--input=csv://${file}`,
          `--output=${url}/companies`,
          ...words('--csvIdColumn=company_id --limit=1000 --concurrency=8 --throttleInterval=0'),
          ...words('--noRefresh --quiet'),
        ],
        { cwd: FOLDER },
      ),
    about:
      'Speaks the bulk protocol of Elasticsearch, an action line before each row, so it sends more bytes. One pass, every value as text, nothing checked or recorded, no resume but by a line number.',
  },
  'bulk helper of @elastic/elasticsearch': {
    send: (file, url) => node(THIS, ['elastic', file, url], { cwd: FOLDER }),
    about:
      'A program of ten lines around a well-kept client and csv-parse: what one writes by hand. Sends an action line before each row. One pass, every value as text, nothing checked or recorded, no resume.',
  },
  [TOOLS]: {
    send: (file, url) => run('bash', ['-c', PIPELINE, 'bash', file, url]),
    about:
      'One pass; numbers are guessed cell by cell. Bodies of 325 kB instead of 1,000 rows, which is faster for it. No retry, nothing recorded; a failed request only shows in the exit code. Peak memory is that of its largest process, miller.',
  },
};

export async function measurePeers({ rows, runs }) {
  const file = await input('csv', rows);
  const absent = await prepare();
  const found = Object.entries(PEERS).filter(([name]) => !absent.has(name));
  const ends = [];
  const after = (end) => ends.push(end);
  const [sent, samples] = [{}, {}];
  try {
    // What arrives from each at a sink that counts. The run also warms the file's cache.
    for (const [name, { send }] of found) {
      const sink = await startSink(after, { count: true });
      await send(file, sink.url, rows);
      sent[name] = await sink.stop();
    }
    const { url } = await startSink(after);
    const cases = found.map(([name, { send }]) => [name, () => send(file, url, rows)]);
    Object.assign(samples, await interleave(Object.fromEntries(cases), runs));
  } finally {
    for (const end of ends) end();
  }
  const lines = found.map(([name, { about }]) => [
    name,
    `${sent[name].rows} of ${rows} in ${sent[name].requests} requests, ${Math.round(sent[name].bytes / 1e6)} MB`,
    about,
  ]);
  const missing = [...absent].map(([name, why]) => `Left out: ${name}. ${why}`);
  return [
    comparison(samples),
    table(['', 'arrived', 'what it does'], lines),
    `Versions: ${[...Object.entries(NPM).map((each) => each.join(' ')), absent.has(TOOLS) ? [] : debianVersions()].flat().join(', ')}.`,
    ...missing,
  ].join('\n\n');
}

/** Installs what npm has, without running its scripts. @returns why a peer cannot be run here, by name */
async function prepare() {
  const absent = new Map();
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'package.json'), JSON.stringify({ private: true, dependencies: NPM }));
  await writeFile(REDIRECT, REDIRECTED);
  try {
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER });
  } catch (error) {
    for (const name of Object.keys(PEERS).filter((name) => name !== OURS && name !== TOOLS))
      absent.set(name, `npm could not install it: ${error.message}`);
  }
  try {
    debianVersions();
  } catch {
    absent.set(TOOLS, `apt-get install ${DEBIAN}`);
  }
  return absent;
}

/** @throws Error when one of them is not there */
function debianVersions() {
  const first = (name) => /\d+[\d.]*/.exec(execFileSync(name, ['--version'], { encoding: 'utf8' }))[0];
  return ['mlr', 'parallel', 'jq', 'curl'].map((name) => `${name} ${first(name)}`).join(', ');
}

if (process.argv[1] === THIS) await elastic(...process.argv.slice(3));
