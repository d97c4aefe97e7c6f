// Peak memory and time of one pass over many rows whose identifiers repeat, as the plan makes it.
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { interleave } from './measure.mjs';
import { megabytes, seconds, table } from './report.mjs';
import { DATA, profiles, room, withState } from './workbench.mjs';

export const title = 'Repeated identifiers';

/** For each million that is asked for: so many rows, with so many identifiers. */
const ROWS = 25;
const DISTINCT = 12;

export async function measure({ rows: unit }) {
  const rows = ROWS * unit;
  const cases = {};
  for (const distinct of [1, DISTINCT * unit]) {
    const file = await repeated(rows, distinct);
    cases[`${distinct} ${distinct === 1 ? 'identifier' : 'identifiers'}`] = () =>
      withState((state) => inspected(file, rows - distinct, state));
  }
  const samples = await interleave(cases, 1);
  const lines = Object.entries(samples).map(([name, taken]) => [
    name,
    megabytes(taken.map(({ peak }) => peak)),
    seconds(taken.map(({ wall }) => wall)),
    seconds(taken.map(({ cpu }) => cpu)),
  ]);
  const note = `${rows} rows of two columns, \`inspect --json\`, one run each.`;
  return [table(['', 'peak memory', 'wall', 'CPU'], lines), note].join('\n\n');
}

async function inspected(file, duplicates, state) {
  const sample = await profiles(['inspect', file, '--json'], { state, stdout: true });
  const found = JSON.parse(sample.stdout).files[0].duplicates;
  if (found !== duplicates) throw new Error(`${found} duplicates, expected ${duplicates}`);
  return sample;
}

/** A CSV in which the identifiers come in turns, made once. */
async function repeated(rows, distinct) {
  const file = join(DATA, `repeated-${rows}-${distinct}.csv`);
  if (existsSync(file)) return file;
  await room(rows * 24);
  console.error(`  making ${file}`);
  const out = createWriteStream(`${file}.part`);
  let text = 'company_id,visits\n';
  for (let row = 0; row < rows; row++) {
    text += `company-${row % distinct},${row}\n`;
    if (text.length < 1 << 20) continue;
    if (!out.write(text)) await once(out, 'drain');
    text = '';
  }
  out.end(text);
  await finished(out);
  await rename(`${file}.part`, file);
  return file;
}
