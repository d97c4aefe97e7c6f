// What five conversions add to the plan of a CSV.
import { interleave } from './measure.mjs';
import { comparison, times } from './report.mjs';
import { importOnce, input } from './workbench.mjs';

export const title = 'Conversions';

const FIVE = [
  'employees=number:1,234.56',
  'annual_revenue=money',
  'adoption_rate=percent',
  'last_seen_at=datetime',
  'plan_tier=lower',
].flatMap((type) => ['--type', type]);
/** A plan calls no one. */
const NOBODY = 'http://127.0.0.1:9';

export async function measure({ rows, runs }) {
  const file = await input('csv', rows);
  const samples = await interleave(
    {
      'plan (--dry-run)': importOnce(file, ['--dry-run'], NOBODY),
      'plan, five conversions': importOnce(file, ['--dry-run', ...FIVE], NOBODY),
    },
    runs,
  );
  const [without, five] = Object.values(samples);
  const ratio = times(five.map(({ cpu }, run) => cpu / without[run].cpu));
  const types = FIVE.filter((word) => word !== '--type').map((type) => `\`${type}\``);
  return `${comparison(samples)}\n\nCPU with ${types.join(', ')}: ${ratio} of the plan without.`;
}
