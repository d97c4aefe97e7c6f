// A workbook and a Parquet file of the same rows, beside their CSV.
import { interleave } from './measure.mjs';
import { comparison, times } from './report.mjs';
import { FAST, importOnce, input, parquet, withSink, workbook } from './workbench.mjs';

export const title = 'Parquet and workbooks';

export async function measure({ rows, runs }) {
  const files = { CSV: await input('csv', rows), Parquet: await parquet(rows), xlsx: await workbook(rows) };
  const requests = Object.keys(files).length * runs * Math.ceil(rows / 1000);
  const samples = await withSink({}, requests, (url) =>
    interleave(
      Object.fromEntries([
        ...Object.entries(files).map(([name, file]) => [
          `${name}: plan`,
          importOnce(file, ['--dry-run'], url),
        ]),
        ...Object.entries(files).map(([name, file]) => [
          `${name}: plan and send`,
          importOnce(file, FAST, url),
        ]),
      ]),
      runs,
    ),
  );
  const ratio = (name, base) => times(samples[name].map(({ cpu }, run) => cpu / samples[base][run].cpu));
  return [
    comparison(samples),
    `CPU of Parquet to that of CSV: plan ${ratio('Parquet: plan', 'CSV: plan')}, plan and send ${ratio('Parquet: plan and send', 'CSV: plan and send')}.`,
  ].join('\n\n');
}
