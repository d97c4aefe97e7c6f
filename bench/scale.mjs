// Many rows, and all that is remembered of them, in either state. With SCALE_STATE=SQLite or SCALE_STATE=PostgreSQL, in that one only.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { table } from './report.mjs';
import { changedInput, DATA, input, profiles, startSink, withState } from './workbench.mjs';

/** Each gives the URL of a new state's database, if it is in one, and ends what it started. */
const STATES = {
  SQLite: async () => undefined,
  PostgreSQL: async (after) => {
    const server = await startServer();
    after(() => server.remove());
    return server.url('scale');
  },
};

/** One run of each: the machine is used for long enough. */
export async function measureScale({ rows }) {
  const only = process.env.SCALE_STATE;
  const parts = [];
  for (const [name, open] of Object.entries(STATES)) {
    if (only && only !== name) continue;
    const ends = [];
    const after = (end) => ends.push(end);
    try {
      const { url } = await startSink(after);
      const database = await open(after);
      parts.push(`### ${name}\n\n${await withState((state) => measured(rows, { url, state, database }))}`);
    } finally {
      for (const end of ends.reverse()) await end();
    }
  }
  return parts.join('\n\n');
}

/** All steps with one state, in order: what, the words, and how many rows are sent. */
async function measured(rows, where) {
  const [file, changed] = [await input('csv', rows), await changedInput(rows, 50)];
  const send = ['--concurrency', '8'];
  const steps = [
    ['plan', ['import', file, '--dry-run'], 0],
    ['plan and send, jobs followed', ['import', file, ...send], rows],
    ['--changed-only, 2 % changed', ['import', changed, ...send, '--changed-only'], Math.ceil(rows / 50)],
    ['--changed-only, nothing changed', ['import', changed, ...send, '--changed-only'], 0],
    ['state info', ['state', 'info']],
    ['state check', ['state', 'check']],
    ['runs', ['runs']],
    ['history of a profile', ['history', 'company', 'c-00000000']],
  ];
  const lines = [];
  for (const [what, words, sent] of steps) {
    const { wall, cpu, peak, stdout } = await profiles([...words, '--json'], { ...where, stdout: true });
    const answer = JSON.parse(stdout);
    if (sent !== undefined && answer.rows.submitted !== sent)
      throw new Error(`${answer.rows.submitted} rows sent, expected ${sent}`);
    const perRow = what === 'state info' ? `${(answer.bytes / rows).toFixed(1)}` : '–';
    const times = [wall, cpu].map((ms) => `${(ms / 1000).toFixed(1)} s`);
    lines.push([what, ...times, `${Math.round(peak)} MB`, perRow]);
    console.error(`  ${lines.at(-1).join(', ')}`);
  }
  return table(['', 'wall', 'CPU', 'peak memory', 'bytes a row in the state'], lines);
}

/** Debian's PostgreSQL, as the tests start it, as a small server. */
async function startServer() {
  const outfile = join(DATA, 'postgres.mjs');
  const entry = join(DATA, '../../test/support/postgres.ts');
  await build({ entryPoints: [entry], outfile, platform: 'node', format: 'esm' });
  const { startPostgres } = await import(pathToFileURL(outfile).href);
  return startPostgres(["shared_buffers = '128MB'"]);
}
