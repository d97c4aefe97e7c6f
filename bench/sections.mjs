// What is measured: a section is a row of this table, and each of its cases is run in turn with the others.
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reading } from './baselines.mjs';
import { bytesIn, interleave, node } from './measure.mjs';
import { measurePeers } from './peers.mjs';
import { comparison, milliseconds } from './report.mjs';
import { measureScale } from './scale.mjs';
import {
  changedInput,
  completed,
  FAST,
  importOnce,
  input,
  listenForFirst,
  PROFILES,
  parquet,
  profiles,
  startSink,
  stateOf,
  withState,
  workbook,
} from './workbench.mjs';

const PLAN = ['--dry-run'];
const CHANGED = ['--changed-only'];
const KEYS = ['-o', 'track_keys=true'];
const PARSER = 'csv-parse, readable events';
const RECORD = 'csv-parse, on_record';
const FEW = fileURLToPath(new URL('../fixtures/companies.csv', import.meta.url));

/** Plan, and plan and send, of one file. */
const both = (name, file, { rows, url }) => ({
  [`${name}: plan`]: importOnce(file, PLAN, { rows, url }),
  [`${name}: plan and send`]: importOnce(file, FAST, { rows, url }),
});

/** The same rows in two formats, the second beside the first. */
const beside = (first, second, make) => ({
  against: Object.fromEntries(
    ['plan', 'plan and send'].map((what) => [`${second}: ${what}`, `${first}: ${what}`]),
  ),
  cases: async (given) => ({
    ...both(first, await input('csv', given.rows), given),
    ...both(second, await make(given.rows), given),
  }),
});

const asking =
  ({ script = PROFILES }, ...words) =>
  () =>
    node(script, words);

/** What two builds are compared in: this checkout, and another one that is built too. */
const COMPARED = {
  '--version': (given) => asking(given, '--version'),
  '--help': (given) => asking(given, '--help'),
  'import of 12 rows': (given) => importOnce(FEW, ['--no-wait'], { ...given, rows: 12 }),
  'CSV: plan': (given, csv) => importOnce(csv, PLAN, given),
  'CSV: plan and send': (given, csv) => importOnce(csv, FAST, given),
  'JSON Lines: plan and send': (given, _, lines) => importOnce(lines, FAST, given),
  'CSV: sending, 50 ms over TLS': (given, csv, _, secure) =>
    importOnce(csv, FAST, { ...given, ...secure, sending: true }),
};

/**
 * `cases` has the sections' measurements by name, each of which gives a sample; `against` names the case that another is compared
 * with, if not the first. `least` is the fewest runs: short ones vary most. `note` says more when all are done.
 */
const TABLE = {
  startup: {
    title: 'Start-up',
    least: 15,
    time: milliseconds,
    cases: () => ({
      'node -e 0': () => node('-e', ['0']),
      'profiles --version': asking({}, '--version'),
      'profiles --help': asking({}, '--help'),
      'profiles lookups --help': asking({}, 'lookups', '--help'),
    }),
  },
  'first-request': {
    title: 'First request',
    least: 15,
    time: milliseconds,
    cases: async ({ after }) => {
      const [thousand, kept, service] = [
        await input('csv', 1000),
        await stateOf(after),
        await listenForFirst(after),
      ];
      const sent = async (file, state) => {
        const arrival = service.next();
        const args = ['import', file, '--no-wait', '--quiet'];
        const sample = await profiles(args, { state, url: service.url });
        return { ...sample, wall: (await arrival) - sample.started };
      };
      return {
        'node -e 0': () => node('-e', ['0']),
        '12 rows': () => sent(FEW, kept),
        '1,000 rows': () => sent(thousand, kept),
        '1,000 rows, new state folder': () => withState((state) => sent(thousand, state)),
      };
    },
    note: () => 'CPU and memory are those of the whole run.',
  },
  csv: {
    title: 'CSV',
    cases: async ({ rows, url }) => {
      const file = await input('csv', rows);
      return {
        [PARSER]: reading(PARSER, file, rows),
        [RECORD]: reading(RECORD, file, rows),
        'plan (--dry-run)': importOnce(file, PLAN, { rows, url }),
        'plan and send': importOnce(file, FAST, { rows, url }),
        'plan and send, --changed-only': importOnce(file, [...FAST, ...CHANGED], { rows, url }),
      };
    },
  },
  json: {
    title: 'JSON Lines and JSON array',
    cases: async ({ rows, url }) => {
      const lines = await input('ndjson', rows);
      return {
        [`${PARSER} (CSV)`]: reading(PARSER, await input('csv', rows), rows),
        'readline and JSON.parse': reading('readline and JSON.parse', lines, rows),
        ...both('JSON Lines', lines, { rows, url }),
        ...both('JSON array', await input('json', rows), { rows, url }),
      };
    },
  },
  spellings: {
    title: 'JSON Lines, by how values are written',
    onRequest: true,
    cases: async ({ rows, url }) => {
      const cases = { [PARSER]: reading(PARSER, await input('csv', rows), rows) };
      for (const how of ['integers', '17-digits', 'escapes', 'python'])
        cases[how] = importOnce(await input(`${how}.ndjson`, rows), FAST, { rows, url });
      return cases;
    },
  },
  columnar: { title: 'Parquet', onRequest: true, ...beside('CSV', 'Parquet', parquet) },
  workbook: { title: 'Workbooks', onRequest: true, ...beside('CSV', 'xlsx', workbook) },
  latency: {
    title: 'Latency',
    against: {
      'sink of 200 ms: sending': 'requests x 200 ms / 8',
      'sink of 50 ms, TLS: sending': 'sink of 50 ms: sending',
    },
    cases: async ({ rows, after }) => {
      const cases = {};
      for (const [ms, tls] of [[50], [50, true], [200]]) {
        const { url, authority } = await startSink(after, { latency: ms, tls });
        const bound = { wall: (Math.ceil(rows / 1000) * ms) / 8, cpu: null, peak: null }; // as in FAST
        cases[`requests x ${ms} ms / 8`] = async () => bound;
        cases[`sink of ${ms} ms${tls ? ', TLS' : ''}: sending`] = importOnce(await input('csv', rows), FAST, {
          rows,
          url,
          authority,
          sending: true,
        });
      }
      return cases;
    },
    note: () => "Sending is the time from the plan's event to the summary's; before it nothing is sent.",
  },
  memory: {
    title: 'Memory',
    cases: async ({ rows, url }) => ({
      [`CSV, ${rows} rows`]: importOnce(await input('csv', rows), FAST, { rows, url }),
      [`JSON Lines, ${rows} rows`]: importOnce(await input('ndjson', rows), FAST, { rows, url }),
      [`CSV, ${3 * rows} rows`]: importOnce(await input('csv', 3 * rows), FAST, { rows: 3 * rows, url }),
    }),
  },
  'changed-only': {
    title: 'Only what changed',
    against: {
      'all changed, looked up': 'all changed, not looked up',
      'nothing changed': 'all changed, not looked up',
    },
    cases: async (given) => {
      const { rows, url } = given;
      const from = await completed(given);
      const [same, few, all] = [
        await input('csv', rows),
        await changedInput(rows, 50),
        await changedInput(rows, 1),
      ];
      const of = (file, flags, sent = rows) => importOnce(file, flags, { rows, sent, url, from });
      return {
        plan: of(few, PLAN),
        'plan, --changed-only': of(few, [...PLAN, ...CHANGED]),
        '2 % changed': of(few, [...FAST, ...CHANGED], Math.ceil(rows / 50)),
        'all changed, not looked up': of(all, FAST),
        'all changed, looked up': of(all, [...FAST, ...CHANGED]),
        'nothing changed': of(same, [...FAST, ...CHANGED], 0),
      };
    },
    note: async ({ rows, states: [state] }) =>
      `The state folder holds ${perRow(await bytesIn(state), rows)}.`,
  },
  'track-keys': {
    title: 'Changes by key',
    against: Object.fromEntries(
      ['planned and sent', 'plan, 2 % changed', 'plan, all changed'].map((name) => [
        `${name}, track_keys`,
        name,
      ]),
    ),
    cases: async (given) => {
      const { rows, url } = given;
      const from = await completed(given, KEYS);
      await completed(given);
      const cases = {};
      for (const [name, file, flags, state] of [
        ['planned and sent', await input('csv', rows), FAST],
        ['plan, 2 % changed', await changedInput(rows, 50), [...PLAN, ...CHANGED], from],
        ['plan, all changed', await changedInput(rows, 1), [...PLAN, ...CHANGED], from],
      ]) {
        cases[name] = importOnce(file, flags, { rows, url, from: state });
        cases[`${name}, track_keys`] = importOnce(file, [...flags, ...KEYS], { rows, url, from: state });
      }
      return cases;
    },
    note: async ({ rows, states: [tracked, plain] }) =>
      `\`track_keys\` adds ${perRow((await bytesIn(tracked)) - (await bytesIn(plain)), rows)} to the state folder.`,
  },
  compare: {
    title: 'Two builds',
    onRequest: true,
    time: milliseconds,
    against: Object.fromEntries(Object.keys(COMPARED).map((name) => [`${name}: this`, `${name}: other`])),
    cases: async ({ rows, url, after, other }) => {
      if (!other) throw new Error('name the checkout to compare with: --against <folder>');
      const secure = await startSink(after, { latency: 50, tls: true });
      const given = [await input('csv', rows), await input('ndjson', rows), secure];
      const builds = { other: resolve(other), this: fileURLToPath(new URL('..', import.meta.url)) };
      const cases = {};
      for (const [name, of] of Object.entries(COMPARED))
        for (const [build, folder] of Object.entries(builds))
          cases[`${name}: ${build}`] = of({ rows, url, script: join(folder, 'bin/profiles.js') }, ...given);
      return cases;
    },
  },
  resume: {
    title: 'Resume',
    cases: async ({ url, after }) => {
      const cases = {};
      for (const count of [2_000, 8_000]) {
        const from = await stateOf(after);
        const flags = ['--no-wait', '--chunk-size', '1', '--concurrency', '8', '--quiet'];
        await profiles(['import', await input('csv', count), ...flags], { state: from, url });
        const resume = ['resume', '--on-failure', 'isolate', '-o', 'interval=1ms', '--quiet'];
        cases[`${count} requests`] = () => withState((state) => profiles(resume, { state, url }), from);
      }
      return cases;
    },
    note: () =>
      'One row a request, sent without following its job. 8,000 requests take at most 5 times of 2,000.',
  },
};

const perRow = (bytes, rows) => `${(bytes / rows).toFixed(1)} bytes a row`;

/** Runs the cases against a sink, and ends what they started. */
async function measure({ least = 1, cases, against, time, note }, { rows, runs, other }) {
  const ends = [];
  const after = (end) => ends.push(end);
  const states = [];
  try {
    const { url } = await startSink(after);
    const made = await cases({ rows, url, after, states, other });
    if (least > 1) await interleave(made, 1); // fills the cache of files
    const samples = await interleave(made, Math.max(runs, least));
    return [comparison(samples, { against, time }), await note?.({ rows, states })]
      .filter(Boolean)
      .join('\n\n');
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

const rowsOfTable = Object.entries(TABLE).map(([name, { title, onRequest, ...row }]) => [
  name,
  { title, onRequest, measure: (size) => measure(row, size) },
]);

export const SECTIONS = {
  ...Object.fromEntries(rowsOfTable),
  scale: { title: 'Many rows, in SQLite and PostgreSQL', onRequest: true, measure: measureScale },
  peers: { title: 'Peers', onRequest: true, measure: measurePeers },
};
