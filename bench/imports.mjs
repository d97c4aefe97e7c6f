// Imports in turns, beside csv-parse or each other: a benchmark is a row of the table.
import { reading, yardstick } from './baselines.mjs';
import { interleave, ratios } from './measure.mjs';
import { comparison, seconds, table, times } from './report.mjs';
import {
  FAST,
  importOnce,
  importTimed,
  input,
  parquet,
  startSink,
  withSink,
  workbook,
} from './workbench.mjs';

const PLAN = ['--dry-run'];
const FIVE = [
  'employees=number:1,234.56',
  'annual_revenue=money',
  'adoption_rate=percent',
  'last_seen_at=datetime',
  'plan_tier=lower',
];

/** Plan, and plan and send, of one file. */
const both = (name, file) => [
  [`${name}: plan`, file, PLAN],
  [`${name}: plan and send`, file, FAST],
];

/** What the second case takes of the first one, in each turn. */
const ratio = (of, samples, [first, second]) => times(ratios(samples[second], samples[first], of));

/**
 * `cases` returns the name, file, flags and, where they are others, rows of each import. `beside` is what stands before them: a form of reading in
 * `baselines.mjs` for a file, or csv-parse (true). `note` says more about the samples.
 */
const TABLE = {
  csv: {
    title: 'CSV',
    beside: { '': true },
    cases: async (rows) => {
      const file = await input('csv', rows);
      return [
        ['plan (--dry-run)', file, PLAN],
        ['plan and send', file, FAST],
        ['plan and send, --changed-only, nothing known', file, [...FAST, '--changed-only']],
      ];
    },
    note: (_, parser) =>
      `The yardstick is csv-parse with \`columns: true\`, in the fastest of its documented streaming forms here:\n\n${comparison(parser.samples, { base: parser.name })}`,
  },
  json: {
    title: 'JSON Lines and JSON array',
    beside: { ' (CSV)': true, 'readline and JSON.parse': 'ndjson' },
    cases: async (rows) => [
      ...both('JSON Lines', await input('ndjson', rows)),
      ...both('JSON array', await input('json', rows)),
    ],
  },
  columnar: {
    title: 'Parquet',
    beside: { ' (CSV)': true },
    cases: async (rows) => [
      ...both('CSV', await input('csv', rows)),
      ...both('Parquet', await parquet(rows)),
    ],
    note(samples) {
      const shares = ['plan', 'plan and send'].map((what) => {
        const names = [`CSV: ${what}`, `Parquet: ${what}`];
        return `${what} ${ratio('wall', samples, names)}, CPU ${ratio('cpu', samples, names)}`;
      });
      return `Parquet to CSV: ${shares.join('; ')}.`;
    },
  },
  workbook: {
    title: 'Workbooks',
    cases: async (rows) => [...both('CSV', await input('csv', rows)), ...both('xlsx', await workbook(rows))],
  },
  conversions: {
    title: 'Conversions',
    cases: async (rows) => {
      const file = await input('csv', rows);
      return [
        ['plan (--dry-run)', file, PLAN],
        ['plan, five conversions', file, [...PLAN, ...FIVE.flatMap((type) => ['--type', type])]],
      ];
    },
    note: (samples) =>
      `CPU with ${FIVE.map((type) => `\`${type}\``).join(', ')}: ${ratio('cpu', samples, Object.keys(samples))} of the plan without.`,
  },
  memory: {
    title: 'Memory',
    cases: async (rows) => [
      [`CSV, ${rows} rows`, await input('csv', rows), FAST],
      [`JSON Lines, ${rows} rows`, await input('ndjson', rows), FAST],
      [`CSV, ${3 * rows} rows`, await input('csv', 3 * rows), FAST, 3 * rows],
    ],
  },
};

async function measure({ beside = {}, cases, note }, { rows, runs }) {
  const imports = await cases(rows);
  const others = {};
  let parser;
  for (const [name, of] of Object.entries(beside)) {
    parser ??= await yardstick({ rows, runs });
    if (of === true) others[parser.name + name] = parser.measure;
    else others[name] = reading(name, await input(of, rows), rows);
  }
  const requests = imports
    .filter(([, , flags]) => !flags.includes('--dry-run'))
    .reduce((sum, [, , , of = rows]) => sum + Math.ceil(of / 1000), 0);
  const samples = await withSink({}, requests * runs, (url) =>
    interleave(
      {
        ...others,
        ...Object.fromEntries(imports.map(([name, file, flags]) => [name, importOnce(file, flags, url)])),
      },
      runs,
    ),
  );
  return [comparison(samples), note?.(samples, parser)].filter(Boolean).join('\n\n');
}

/** A service that takes its time: how near the import comes to requests x latency / concurrency. */
async function latency({ rows, runs }) {
  const file = await input('csv', rows);
  const sinks = {};
  for (const ms of [50, 200]) sinks[ms] = await startSink({ latency: ms });
  try {
    const cases = Object.entries(sinks).map(([ms, { url }]) => [ms, importTimed(file, url)]);
    const samples = await interleave(Object.fromEntries(cases), runs);
    const lines = Object.entries(samples).map(([ms, taken]) => {
      const bound = (Math.ceil(rows / 1000) * ms) / 8; // --concurrency, as in FAST
      const shown = (of) => [
        seconds(taken.map((sample) => sample[of])),
        times(taken.map((sample) => sample[of] / bound)),
      ];
      return [`${ms} ms`, `${(bound / 1000).toFixed(2)} s`, ...shown('sending'), ...shown('wall')];
    });
    const head = 'sink,requests x latency / 8,sending,of the bound,whole process,of the bound'.split(',');
    return `${table(head, lines)}\n\nSending is the time from the plan's event to the summary's; before it nothing is sent.`;
  } finally {
    await Promise.all(Object.values(sinks).map((sink) => sink.stop()));
  }
}

export const sections = {
  ...Object.fromEntries(
    Object.entries(TABLE).map(([name, row]) => [
      name,
      { title: row.title, measure: (size) => measure(row, size) },
    ]),
  ),
  latency: { title: 'Latency', measure: latency },
};
