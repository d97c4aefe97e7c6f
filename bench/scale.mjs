// Many rows, and all that is remembered of them, in either state: what an import costs at a million rows and at many.
// With SCALE_STATE=SQLite or SCALE_STATE=PostgreSQL, in that one only.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { machine, table } from './report.mjs';
import { changedInput, DATA, input, profiles, withSink, withState } from './workbench.mjs';

/** What the cost of a row is compared with. */
const FEWER = 1_000_000;
const SEND = ['--concurrency', '8'];
const CHANGED_EVERY = 50;
/** Lines of postgresql.conf: a small server, otherwise as it comes. */
const SETTINGS = ["shared_buffers = '128MB'"];

/** One run of each: the machine is used for long enough. */
async function measure({ rows }) {
  const sizes = [...new Set([Math.min(rows, FEWER), rows])];
  const only = process.env.SCALE_STATE;
  const parts = [];
  for (const [name, use] of Object.entries(STATES)) {
    if (only && only !== name) continue;
    parts.push(await use((state) => measured(name, sizes, state)));
  }
  return [`Last state measured: ${machine(DATA)}.`, ...parts].join('\n\n');
}

/** Each gives what is needed to use a new state for so many rows. */
const STATES = {
  SQLite: (use) => use(() => undefined),
  PostgreSQL: async (use) => {
    const server = await startServer();
    try {
      return await use((rows) => server.url(`rows_${rows}`));
    } finally {
      await server.remove();
    }
  },
};

async function measured(name, sizes, databaseOf) {
  const taken = [];
  for (const rows of sizes) {
    taken.push(
      await withSink({}, null, (url) =>
        withState((state) => imported(rows, { url, state, database: databaseOf(rows) })),
      ),
    );
  }
  const last = taken.at(-1);
  const [first] = taken;
  const lines = Object.entries(last.samples).map(([what, sample]) => {
    const { rows, bytes } = last;
    const before = first.samples[what];
    const perRow = (value, of) => (value * 1000) / of;
    const ratio = perRow(sample.cpu, rows) / perRow(before.cpu, first.rows);
    return [
      what,
      `${(sample.wall / 1000).toFixed(1)} s`,
      `${(sample.cpu / 1000).toFixed(1)} s`,
      `${Math.round(sample.peak)} MB`,
      taken.length > 1 && sample.perRow ? `${ratio.toFixed(2)}x` : '–',
      bytes[what] === undefined ? '–' : `${(bytes[what] / rows).toFixed(1)}`,
    ];
  });
  const head = [
    '',
    'wall',
    'CPU',
    'peak memory',
    `CPU a row to that of ${first.rows} rows`,
    'bytes a profile in the state',
  ];
  return `### ${last.rows} rows, ${name}\n\n${table(head, lines)}`;
}

/** All steps with one state, in order. */
async function imported(rows, { url, state, database }) {
  const [file, changed] = [await input('csv', rows), await changedInput(rows, CHANGED_EVERY)];
  const samples = {};
  const bytes = {};
  const run = async (what, args, { perRow = false, ...options } = {}) => {
    const sample = await profiles([...args, '--json'], {
      state,
      database,
      url,
      stdout: true,
      ...options,
    });
    console.error(
      `  ${rows} rows, ${what}: ${Math.round(sample.wall)} ms, CPU ${Math.round(sample.cpu)} ms, ${Math.round(sample.peak)} MB`,
    );
    samples[what] = { ...sample, perRow, stdout: '' };
    return JSON.parse(sample.stdout);
  };
  const sent = async (what, args, expected) => {
    const { rows: counts } = await run(what, args, { perRow: true });
    if (counts.submitted !== expected) throw new Error(`${counts.submitted} rows sent, expected ${expected}`);
    bytes[what] = (await run('state info', ['state', 'info'])).bytes;
  };
  await run('plan', ['import', file, '--dry-run'], { perRow: true });
  await sent('plan and send, jobs followed', ['import', file, ...SEND], rows);
  const few = Math.ceil(rows / CHANGED_EVERY);
  await sent('--changed-only, 2 % changed', ['import', changed, ...SEND, '--changed-only'], few);
  await sent('--changed-only, nothing changed', ['import', changed, ...SEND, '--changed-only'], 0);
  await run('state check', ['state', 'check']);
  await run('runs', ['runs']);
  await run('history of a profile', ['history', 'company', 'c-00000000']);
  return { rows, samples, bytes };
}

/** Debian's PostgreSQL, as the tests start it. */
async function startServer() {
  const outfile = join(DATA, 'postgres.mjs');
  await build({
    entryPoints: [join(DATA, '../../test/support/postgres.ts')],
    outfile,
    platform: 'node',
    format: 'esm',
  });
  const { startPostgres } = await import(pathToFileURL(outfile).href);
  return startPostgres(SETTINGS);
}

export const sections = { scale: { title: 'Many rows, in SQLite and PostgreSQL', measure } };
