// Two builds in one interleaved run: this checkout and another one that is built too.
//   node bench/compare.mjs <other checkout> [--rows 300000] [--runs 5]
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { interleave, node } from './measure.mjs';
import { comparison, milliseconds } from './report.mjs';
import { FAST, importOnce, input, startSink } from './workbench.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '300000' }, runs: { type: 'string', default: '5' } },
});
const [other] = positionals;
if (!other) throw new Error('name the checkout to compare with: node bench/compare.mjs <folder>');
const [rows, runs] = [Number(values.rows), Number(values.runs)];
const builds = { other: resolve(other), this: fileURLToPath(new URL('..', import.meta.url)) };
const script = (build) => join(build, 'bin/profiles.js');

const ends = [];
const { url } = await startSink((end) => ends.push(end));
const secure = await startSink((end) => ends.push(end), { latency: 50, tls: true });
const few = fileURLToPath(new URL('../fixtures/companies.csv', import.meta.url));
const [csv, json] = [await input('csv', rows), await input('ndjson', rows)];
const imported = (file, flags, given) => (build) =>
  importOnce(file, flags, { rows, url, script: script(build), ...given });
/** Name, least runs, and the case for a build. */
const cases = [
  ['--version', 15, (build) => () => node(script(build), ['--version'])],
  ['--help', 15, (build) => () => node(script(build), ['--help'])],
  ['import of 12 rows', 10, imported(few, ['--no-wait'], { rows: 12 })],
  ['CSV: plan', 0, imported(csv, ['--dry-run'])],
  ['CSV: plan and send', 0, imported(csv, FAST)],
  ['JSON Lines: plan and send', 0, imported(json, FAST)],
  ['CSV: sending, 50 ms over TLS', 0, imported(csv, FAST, { ...secure, sending: true })],
];
try {
  for (const [name, least, measure] of cases) {
    const made = Object.entries(builds).map(([key, build]) => [key, measure(build)]);
    const samples = await interleave(Object.fromEntries(made), Math.max(runs, least));
    console.log(
      `\n${name}, ${rows} rows, ${runs} runs or more\n\n${comparison(samples, { time: milliseconds })}`,
    );
  }
} finally {
  for (const end of ends) end();
}
