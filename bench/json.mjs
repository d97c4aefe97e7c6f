// JSON Lines and a JSON array of the same rows, beside csv-parse on their CSV.
import { interleave } from './measure.mjs';
import { reading, yardstick } from './parsers.mjs';
import { comparison } from './report.mjs';
import { FAST, importOnce, input, withSink } from './workbench.mjs';

export const title = 'JSON Lines and JSON array';

export async function measure({ rows, runs }) {
  const [ndjson, json] = [await input('ndjson', rows), await input('json', rows)];
  const parser = await yardstick({ rows, runs });
  const requests = 2 * runs * Math.ceil(rows / 1000);
  const samples = await withSink({}, requests, (url) =>
    interleave(
      {
        [`${parser.name} (CSV)`]: parser.measure,
        'readline and JSON.parse (JSON Lines)': reading('readline and JSON.parse', ndjson, rows),
        'JSON Lines: plan': importOnce(ndjson, ['--dry-run'], url),
        'JSON Lines: plan and send': importOnce(ndjson, FAST, url),
        'JSON array: plan': importOnce(json, ['--dry-run'], url),
        'JSON array: plan and send': importOnce(json, FAST, url),
      },
      runs,
    ),
  );
  return comparison(samples);
}
