// CSV to a free sink, beside csv-parse alone.
import { interleave } from './measure.mjs';
import { yardstick } from './parsers.mjs';
import { comparison } from './report.mjs';
import { FAST, importOnce, input, withSink } from './workbench.mjs';

export const title = 'CSV';

export async function measure({ rows, runs }) {
  const file = await input('csv', rows);
  const parser = await yardstick({ rows, runs });
  const requests = 2 * runs * Math.ceil(rows / 1000);
  const samples = await withSink({}, requests, (url) =>
    interleave(
      {
        [parser.name]: parser.measure,
        'plan (--dry-run)': importOnce(file, ['--dry-run'], url),
        'plan and send': importOnce(file, FAST, url),
        'plan and send, --changed-only, nothing known': importOnce(file, [...FAST, '--changed-only'], url),
      },
      runs,
    ),
  );
  return [
    comparison(samples),
    `The yardstick is csv-parse with \`columns: true\`, in the fastest of its documented streaming forms here:`,
    comparison(parser.samples, { base: parser.name }),
  ].join('\n\n');
}
