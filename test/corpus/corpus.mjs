// Holds reading still: what an import makes of thousands of inputs, as one line of digests for each.
//   node test/corpus/corpus.mjs compare <dist> <other dist>    what differs between two builds
//   node test/corpus/corpus.mjs keep <dist> <file>             keeps the records of a build, to be named as <dist>
//   node test/corpus/corpus.mjs check [dist]                   what differs from digests.txt
//   node test/corpus/corpus.mjs freeze [dist]                  writes digests.txt
// A line has the input, its exit code, and digests of the items sent, their bytes, the rejected rows, the plan and
// warnings, and of the second import of a changed file with `changedOnly`. The inputs are made again, not stored.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inputs } from './inputs.mjs';

const DIGESTS = fileURLToPath(new URL('digests.txt', import.meta.url));
const PARTS = ['exit', 'items', 'bytes', 'rejects', 'plan', 'again'];
/** Imports at a time: they wait for their files. */
const AT_ONCE = 3;

const digest = (value) =>
  createHash('sha256')
    .update(JSON.stringify(value ?? null))
    .digest('base64url')
    .slice(0, 8);

/** A service that keeps the bodies it receives, by token. */
async function startService() {
  const bodies = new Map();
  let jobs = 0;
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const token = request.headers.authorization?.split(' ').pop();
      if (!bodies.has(token)) bodies.set(token, []);
      bodies.get(token).push(Buffer.concat(chunks).toString());
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ job_id: `job-${++jobs}`, status: 'queued' }));
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}`, bodies, stop: () => server.close() };
}

let imports = 0;

/** What one import made of its input, without what differs each time. */
async function importOne({ runImport }, service, folder, files, options) {
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
  const token = `token-${++imports}`;
  const quiet = (text) => text.replaceAll(folder, '').replace(/\b20\d{6}-[\w-]+/g, 'RUN');
  const rejected = [];
  let outcome;
  try {
    const run = runImport({
      files: Object.keys(files),
      ...{
        cwd: folder,
        stateDir: join(folder, 'state'),
        invalid: 'any',
        wait: false,
        chunkSize: 500,
        concurrency: 4,
      },
      ...options,
      service: { baseUrl: service.url, token, account: 'a' },
    });
    for await (const event of run) if (event.type === 'rejected') rejected.push([event.line, event.reason]);
    const { summary, failure, exit } = await run.result();
    outcome = {
      exit: exit ?? failure?.exit ?? 0,
      plan: [
        summary.plan?.files,
        summary.plan?.duplicates,
        summary.plan?.changes,
        summary.warnings,
        summary.rows,
      ],
      error: failure?.message,
    };
  } catch (error) {
    outcome = {
      exit: error.exit ?? error.name,
      error: [error.message, error.file, error.line, error.hint].join(' | '),
    };
  }
  const found = readdirSync(folder).filter((file) => /\.rejects\.(?:csv|tsv|ndjson)$/.test(file));
  const sent = (service.bodies.get(token) ?? []).sort();
  service.bodies.delete(token);
  const rejects = found.map((file) => quiet(readFileSync(join(folder, file), 'utf8')));
  for (const file of found) rmSync(join(folder, file));
  const items = sent.map((body) => JSON.parse(body));
  return {
    exit: [outcome.exit, quiet(String(outcome.error ?? ''))],
    items,
    bytes: sent,
    rejects: [rejected, rejects],
    plan: quiet(JSON.stringify(outcome.plan ?? null)),
  };
}

/** A record for each input, by name. */
async function read(dist) {
  if (dist.endsWith('.json')) return new Map(JSON.parse(readFileSync(dist, 'utf8')));
  const library = await import(pathToFileURL(resolve(dist, 'index.js')));
  const service = await startService();
  const records = new Map();
  const queue = inputs();
  const work = async () => {
    for (const { name, files, next, options } of queue) {
      const folder = mkdtempSync(join(tmpdir(), 'corpus-'));
      const record = await importOne(library, service, folder, files, options);
      if (next) {
        const { items, exit, plan } = await importOne(library, service, folder, next, {
          ...options,
          changedOnly: true,
        });
        record.again = [exit, items, plan];
      }
      rmSync(folder, { recursive: true, force: true });
      records.set(name, {
        exit: record.exit[0],
        ...Object.fromEntries(PARTS.slice(1).map((part) => [part, digest(record[part])])),
        error: digest(record.exit[1]),
        record,
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  service.stop();
  return records;
}

const line = (name, record) => `${name}\t${[...PARTS, 'error'].map((part) => record[part]).join(' ')}`;

const shown = (value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 600)}… (${text.length})` : text;
};

/** Where two texts begin to differ. */
function difference(a, b) {
  const [x, y] = [a, b].map((value) => JSON.stringify(value ?? null));
  let at = 0;
  while (at < x.length && x[at] === y[at]) at++;
  const from = Math.max(0, at - 150);
  return `      - ${shown(x.slice(from, at + 200))}\n      + ${shown(y.slice(from, at + 200))}`;
}

/** Prints the inputs whose records differ. @returns how many */
function compare(before, after) {
  const counts = {};
  let different = 0;
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [a, b] = [before.get(name), after.get(name)];
    const parts = [...PARTS, 'error'].filter((part) => String(a?.[part]) !== String(b?.[part]));
    if (parts.length === 0) continue;
    different++;
    for (const part of parts) counts[part] = (counts[part] ?? 0) + 1;
    console.log(`${name}: ${parts.join(' ')}`);
    if (!a?.record || !b?.record) continue;
    for (const part of parts)
      console.log(
        difference(a.record[part === 'error' ? 'exit' : part], b.record[part === 'error' ? 'exit' : part]),
      );
  }
  console.log(`${after.size} inputs, ${after.size - different} equal, ${different} different`, counts);
  return different;
}

function frozen() {
  const records = new Map();
  for (const text of readFileSync(DIGESTS, 'utf8').trim().split('\n')) {
    const [name, rest] = text.split('\t');
    const parts = rest.split(' ');
    records.set(name, Object.fromEntries([...PARTS, 'error'].map((part, at) => [part, parts[at]])));
  }
  return records;
}

const [command, dist = 'dist', other] = process.argv.slice(2);
if (command === 'freeze') {
  const records = await read(dist);
  writeFileSync(
    DIGESTS,
    `${[...records]
      .map(([name, record]) => line(name, record))
      .sort()
      .join('\n')}\n`,
  );
  console.log(`${records.size} inputs`);
} else if (command === 'check') process.exitCode = compare(frozen(), await read(dist)) > 0 ? 1 : 0;
else if (command === 'compare' && other)
  process.exitCode = compare(await read(dist), await read(other)) > 0 ? 1 : 0;
else if (command === 'keep' && other) {
  writeFileSync(other, JSON.stringify([...(await read(dist))]));
} else throw new Error('compare, keep, check or freeze');
