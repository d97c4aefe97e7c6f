// Other importers with the same file against the same sink. Each is first run against a sink that counts, so
// that its figure stands for all rows sent. What it does more or less than ours is said beside it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { command, interleave, node, run } from './measure.mjs';
import { comparison, table } from './report.mjs';
import { DATA, FAST, importOnce, input, startSink, withSink } from './workbench.mjs';

export const title = 'Peers';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const FOLDER = join(DATA, 'peers');
const PINNED = JSON.parse(readFileSync(here('peers.json'), 'utf8'));
const OURS = 'profiles import';
const inPackage = (path) => join(FOLDER, 'node_modules', path);
const packageVersion = (name) => JSON.parse(readFileSync(inPackage(`${name}/package.json`), 'utf8')).version;
const words = (text) => text.split(' ');

/** `send` runs it once; `about` says what its figure does and does not stand for. */
const PEERS = {
  [OURS]: {
    versions: () => 'this build',
    send: (file, url) => importOnce(file, FAST, url)(),
    about:
      'Reads the file twice: checks and types every row before the first is sent, looks for duplicates, then sends. Records each request before and after with a synchronous commit.',
  },
  'mixpanel-import': {
    versions: () => packageVersion('mixpanel-import'),
    send: (file, url) =>
      node(
        inPackage('mixpanel-import/index.js'),
        [
          file,
          ...words('--type user --format csv --token t --workers 8 --batch 1000'),
          ...words('--fastMode --no-compress --no-logs --abridged'),
        ],
        { cwd: FOLDER, env: { BENCH_SINK: url }, preload: here('peers-redirect.cjs') },
      ),
    about:
      'In its fast mode, which sends rows as they were parsed: one pass, every value as text, no identifier looked for, nothing recorded, no resume. It measures each row as JSON for its byte limit. Its hosts are written into it; its connections are led to the sink, without TLS.',
  },
  elasticdump: {
    versions: () => packageVersion('elasticdump'),
    send: (file, url) =>
      node(
        inPackage('elasticdump/bin/elasticdump'),
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
    versions: () => `${packageVersion('@elastic/elasticsearch')}, csv-parse ${packageVersion('csv-parse')}`,
    send: (file, url) => node(here('peers-elastic.mjs'), [file, url], { cwd: FOLDER }),
    about:
      'A program of ten lines around a well-kept client and csv-parse (`peers-elastic.mjs`): what one writes by hand. Sends an action line before each row. One pass, every value as text, nothing checked or recorded, no resume.',
  },
  'miller, parallel, jq, curl': {
    versions: debianVersions,
    send: (file, url) => command(here('peers.sh'), [file, url]),
    about:
      'One pass; numbers are guessed cell by cell. Bodies of 325 kB instead of 1,000 rows, which is faster for it. No retry, nothing recorded; a failed request only shows in the exit code. Peak memory is that of its largest process, miller.',
  },
};

export async function measure({ rows, runs }) {
  const file = await input('csv', rows);
  const absent = await prepare();
  const found = Object.entries(PEERS).filter(([name]) => !absent.has(name));
  const sent = await countSent(found, file);
  const samples = await withSink({}, null, (url) =>
    interleave(Object.fromEntries(found.map(([name, { send }]) => [name, () => send(file, url)])), runs),
  );
  const lines = found.map(([name, { versions, about }]) => [
    name,
    versions(),
    `${sent[name].rows} of ${rows} in ${sent[name].requests} requests, ${Math.round(sent[name].bytes / 1e6)} MB`,
    about,
  ]);
  const missing = [...absent].map(([name, why]) => `Left out: ${name}. ${why}`);
  return [
    comparison(samples, { base: OURS }),
    table(['', 'version', 'arrived', 'what it does'], lines),
    ...missing,
  ].join('\n\n');
}

/** What arrives from each peer at a sink that counts. The run also warms the file's cache. */
async function countSent(peers, file) {
  const sent = {};
  for (const [name, { send }] of peers) {
    const sink = await startSink({ count: true });
    await send(file, sink.url).finally(async () => {
      sent[name] = await sink.stop();
    });
    console.error(`  ${name}: ${sent[name].rows} rows arrived`);
  }
  return sent;
}

/** Installs what npm has, without running its scripts. @returns why a peer cannot be run here, by name */
async function prepare() {
  const absent = new Map();
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'package.json'), JSON.stringify({ private: true, dependencies: PINNED.npm }));
  try {
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER });
  } catch (error) {
    for (const name of Object.keys(PINNED.npm))
      absent.set(name, `npm could not install it: ${error.message}`);
  }
  try {
    debianVersions();
  } catch {
    absent.set('miller, parallel, jq, curl', `apt-get install ${PINNED.debian.join(' ')}`);
  }
  return absent;
}

/** @throws Error when one of them is not there */
function debianVersions() {
  const first = (name) => /\d+[\d.]*/.exec(execFileSync(name, ['--version'], { encoding: 'utf8' }))[0];
  return ['mlr', 'parallel', 'jq', 'curl'].map((name) => `${name} ${first(name)}`).join(', ');
}
