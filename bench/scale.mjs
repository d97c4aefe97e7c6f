// Many rows, and all that is remembered of them, in either state: what an import costs at a million rows and at many.
// With SCALE_STATE=SQLite or SCALE_STATE=PostgreSQL, in that one only.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { machine, table } from './report.mjs';
import { changedInput, DATA, input, profiles, withSink, withState } from './workbench.mjs';

export const title = 'Many rows, in SQLite and PostgreSQL';

/** What the cost of a row is compared with. */
const FEWER = 1_000_000;
const SEND = ['--concurrency', '8'];
const CHANGED_EVERY = 50;
/** Lines of postgresql.conf: a small server, otherwise as it comes. */
const SETTINGS = ["shared_buffers = '128MB'"];
/** Clock ticks of /proc in a second. */
const TICKS = 100;

/** One run of each: the machine is used for long enough. */
export async function measure({ rows }) {
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
  SQLite: (use) => use({ env: () => ({}), serverCpu: () => null }),
  PostgreSQL: async (use) => {
    const server = await startServer();
    try {
      return await use({
        env: (rows) => ({ PROFILES_STATE: server.url(`rows_${rows}`) }),
        serverCpu: () => cpuBelow(server.folder),
      });
    } finally {
      await server.remove();
    }
  },
};

async function measured(name, sizes, { env, serverCpu }) {
  const taken = [];
  for (const rows of sizes) {
    taken.push(
      await withSink({}, null, (url) =>
        withState((state) => imported(rows, { url, state, more: env(rows), serverCpu })),
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
      sample.server === null ? '–' : `${(sample.server / 1000).toFixed(1)} s`,
      `${Math.round(sample.peak)} MB`,
      taken.length > 1 && sample.perRow ? `${ratio.toFixed(2)}x` : '–',
      bytes[what] === undefined ? '–' : `${(bytes[what] / rows).toFixed(1)}`,
    ];
  });
  const head = [
    '',
    'wall',
    'CPU',
    "server's CPU",
    'peak memory',
    `CPU a row to that of ${first.rows} rows`,
    'bytes a profile in the state',
  ];
  return `### ${last.rows} rows, ${name}\n\n${table(head, lines)}`;
}

/** All steps with one state, in order. */
async function imported(rows, { url, state, more, serverCpu }) {
  const [file, changed] = [await input('csv', rows), await changedInput(rows, CHANGED_EVERY)];
  const samples = {};
  const bytes = {};
  const run = async (what, args, { perRow = false, ...options } = {}) => {
    const before = serverCpu();
    const sample = await profiles([...args, '--json'], {
      state,
      url,
      stdout: true,
      env: { PROFILES_TOKEN: 'benchmark-token', XDG_CONFIG_HOME: join(state, 'config'), ...more },
      ...options,
    });
    const after = serverCpu();
    console.error(
      `  ${rows} rows, ${what}: ${Math.round(sample.wall)} ms, CPU ${Math.round(sample.cpu)} ms, ${Math.round(sample.peak)} MB, server ${after - before} ms`,
    );
    samples[what] = { ...sample, perRow, stdout: '', server: after === null ? null : after - before };
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

/** CPU of a server and its processes, ended ones included, milliseconds. */
function cpuBelow(folder) {
  const [pid] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n');
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name) || !existsSync(`/proc/${name}/stat`)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ');
      if (name !== pid && fields[1] !== pid) continue;
      ticks += Number(fields[11]) + Number(fields[12]);
      if (name === pid) ticks += Number(fields[13]) + Number(fields[14]);
    } catch {
      // It has ended.
    }
  }
  return (ticks * 1000) / TICKS;
}
