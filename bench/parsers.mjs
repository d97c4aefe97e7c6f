// The yardstick: csv-parse alone, in the form in which it is fastest here.
import { fileURLToPath } from 'node:url';
import { FORMS } from './baselines.mjs';
import { interleave, node, spread } from './measure.mjs';
import { input } from './workbench.mjs';

const BASELINES = fileURLToPath(new URL('baselines.mjs', import.meta.url));

/** Reads a file in one of `FORMS`. @throws Error when it counts other rows than there are */
export const reading = (form, file, rows) => async () => {
  const sample = await node(BASELINES, [form, file], { stdout: true });
  if (Number(sample.stdout) !== rows) throw new Error(`${form} counted ${sample.stdout} rows of ${rows}`);
  return sample;
};

let chosen;

/** All forms in turns; the one with the lowest median is the yardstick of this whole run. */
export async function yardstick({ rows, runs }) {
  if (chosen) return chosen;
  const file = await input('csv', rows);
  const forms = Object.keys(FORMS).filter((form) => form.startsWith('csv-parse'));
  const cases = Object.fromEntries(forms.map((form) => [form, reading(form, file, rows)]));
  const samples = await interleave(cases, Math.min(runs, 3));
  const wall = (form) => spread(samples[form].map((sample) => sample.wall)).median;
  const [name] = [...forms].sort((a, b) => wall(a) - wall(b));
  chosen = { name, measure: cases[name], samples };
  return chosen;
}
