// A workbook beside the CSV of the same rows.
import { interleave } from './measure.mjs';
import { comparison } from './report.mjs';
import { FAST, importOnce, input, withSink, workbook } from './workbench.mjs';

export const title = 'Workbooks';

export async function measure({ rows, runs }) {
  const files = { CSV: await input('csv', rows), xlsx: await workbook(rows) };
  const cases = (url) =>
    Object.entries(files).flatMap(([name, file]) => [
      [`${name}: plan`, importOnce(file, ['--dry-run'], url)],
      [`${name}: plan and send`, importOnce(file, FAST, url)],
    ]);
  const requests = 2 * runs * Math.ceil(rows / 1000);
  const samples = await withSink({}, requests, (url) => interleave(Object.fromEntries(cases(url)), runs));
  return comparison(samples);
}
