// Peak memory of one process with its threads, at one and at three times the rows.
import { interleave, spread } from './measure.mjs';
import { megabytes, seconds, table } from './report.mjs';
import { FAST, importOnce, input, NoRoom, withSink } from './workbench.mjs';

export const title = 'Memory';

/** What finding duplicates may take for each row, bytes. */
const ROW_SHARE = 32;

export async function measure({ rows, runs }) {
  const files = { [`CSV, ${rows} rows`]: await input('csv', rows) };
  files[`JSON Lines, ${rows} rows`] = await input('ndjson', rows);
  const notes = [];
  try {
    files[`CSV, ${3 * rows} rows`] = await input('csv', 3 * rows);
  } catch (error) {
    if (!(error instanceof NoRoom)) throw error;
    notes.push(`Three times the rows: left out, ${error.message}.`);
  }
  const samples = await withSink({}, null, (url) =>
    interleave(
      Object.fromEntries(Object.entries(files).map(([name, file]) => [name, importOnce(file, FAST, url)])),
      runs,
    ),
  );
  const lines = Object.entries(samples).map(([name, taken]) => [
    name,
    megabytes(taken.map(({ peak }) => peak)),
    seconds(taken.map(({ wall }) => wall)),
  ]);
  const [once, , thrice] = Object.values(samples).map(
    (taken) => spread(taken.map(({ peak }) => peak)).median,
  );
  if (thrice) {
    const share = (2 * rows * ROW_SHARE) / 2 ** 20;
    notes.push(
      `From ${rows} to ${3 * rows} rows: ${(thrice - once).toFixed(0)} MB more. A tenth of the peak and ${ROW_SHARE} bytes for each further row would be ${(once / 10 + share).toFixed(0)} MB.`,
    );
  }
  return [table(['', 'peak memory', 'wall'], lines), ...notes].join('\n\n');
}
