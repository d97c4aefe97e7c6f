// A Parquet file beside the CSV of the same rows, and csv-parse on that.
import { interleave } from './measure.mjs';
import { yardstick } from './parsers.mjs';
import { comparison, times } from './report.mjs';
import { FAST, importOnce, input, parquet, withSink } from './workbench.mjs';

export const title = 'Parquet';

export async function measure({ rows, runs }) {
  const [csv, columnar] = [await input('csv', rows), await parquet(rows)];
  const parser = await yardstick({ rows, runs });
  const requests = 2 * runs * Math.ceil(rows / 1000);
  const samples = await withSink({}, requests, (url) =>
    interleave(
      {
        [`${parser.name} (CSV)`]: parser.measure,
        'CSV: plan': importOnce(csv, ['--dry-run'], url),
        'Parquet: plan': importOnce(columnar, ['--dry-run'], url),
        'CSV: plan and send': importOnce(csv, FAST, url),
        'Parquet: plan and send': importOnce(columnar, FAST, url),
      },
      runs,
    ),
  );
  const ratio = (of, what) =>
    times(samples[`Parquet: ${what}`].map((sample, run) => sample[of] / samples[`CSV: ${what}`][run][of]));
  return [
    comparison(samples),
    `Parquet to CSV: plan ${ratio('wall', 'plan')}, CPU ${ratio('cpu', 'plan')}; plan and send ${ratio('wall', 'plan and send')}, CPU ${ratio('cpu', 'plan and send')}.`,
  ].join('\n\n');
}
