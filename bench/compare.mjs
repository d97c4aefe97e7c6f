// Two builds in one interleaved run: this checkout and another one that is built too.
//   node bench/compare.mjs <other checkout> [--rows 300000] [--runs 5]
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { interleave, node, ratios, spread } from './measure.mjs';
import { megabytes, milliseconds, table, times } from './report.mjs';
import { FAST, input, profiles, startSink, withState } from './workbench.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '300000' }, runs: { type: 'string', default: '5' } },
});
const [other] = positionals;
if (!other) throw new Error('name the checkout to compare with: node bench/compare.mjs <folder>');
const [rows, runs] = [Number(values.rows), Number(values.runs)];
const builds = { other: resolve(other), this: fileURLToPath(new URL('..', import.meta.url)) };

const started = (build, ...args) => node(join(build, 'bin/profiles.js'), args);
const imported = (build, file, flags, url) =>
  withState((state) =>
    profiles(['import', file, ...flags, '--quiet'], { state, url, script: join(build, 'bin/profiles.js') }),
  );

const sink = await startSink({});
const files = { csv: await input('csv', rows), json: await input('ndjson', rows) };
const few = fileURLToPath(new URL('../fixtures/companies.csv', import.meta.url));
/** Name, least runs, and the case for a build. */
const cases = [
  ['--version', 15, (build) => started(build, '--version')],
  ['--help', 15, (build) => started(build, '--help')],
  ['import of 12 rows', 10, (build) => imported(build, few, ['--no-wait'], sink.url)],
  ['CSV: plan', 0, (build) => imported(build, files.csv, ['--dry-run'], sink.url)],
  ['CSV: plan and send', 0, (build) => imported(build, files.csv, FAST, sink.url)],
  ['JSON Lines: plan and send', 0, (build) => imported(build, files.json, FAST, sink.url)],
];
const lines = [];
try {
  for (const [name, least, measure] of cases) {
    const samples = await interleave(
      Object.fromEntries(Object.entries(builds).map(([key, build]) => [key, () => measure(build)])),
      Math.max(runs, least),
    );
    const ratio = (key) => ratios(samples.this, samples.other, key);
    lines.push([
      name,
      milliseconds(samples.other.map(({ wall }) => wall)),
      milliseconds(samples.this.map(({ wall }) => wall)),
      times(ratio('wall')),
      times(ratio('cpu')),
      `${megabytes([spread(samples.other.map(({ peak }) => peak)).median])} to ${megabytes([spread(samples.this.map(({ peak }) => peak)).median])}`,
    ]);
  }
} finally {
  await sink.stop();
}
console.log(`${rows} rows, ${runs} runs or more\n`);
console.log(table(['', 'other', 'this', 'wall, this to other', 'CPU, this to other', 'peak memory'], lines));
