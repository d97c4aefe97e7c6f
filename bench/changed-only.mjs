// Imports of which the service holds most already: what is sent, what it costs, what is kept on disk.
import { rm } from 'node:fs/promises';
import { bytesIn, interleave, ratios, spread } from './measure.mjs';
import { comparison } from './report.mjs';
import { changedInput, FAST, input, profiles, stateFolder, withSink, withState } from './workbench.mjs';

export const title = 'Only what changed';

export async function measure({ rows, runs }) {
  return withSink({}, null, async (url) => {
    const parts = [await fewChanged(Math.round(rows / 10), runs, url), await manyKnown(rows, runs, url)];
    return parts.join('\n\n');
  });
}

/** 2 % of the rows changed since they were completed. */
async function fewChanged(rows, runs, url) {
  const known = await completed(rows, url);
  const file = await changedInput(rows, 50);
  const sent = [];
  const imported = (flags) => () =>
    withState(async (state) => {
      const sample = await profiles(['import', file, ...flags, '--json'], { state, url, stdout: true });
      sent.push(JSON.parse(sample.stdout).rows.submitted);
      return { ...sample, stdout: '' };
    }, known);
  try {
    const samples = await interleave(
      {
        plan: planned(file, url, known),
        'plan, told what is unchanged': planned(file, url, known, ['--changed-only']),
        '--changed-only, accepted': imported([...FAST, '--changed-only']),
        '--changed-only, completed': imported([
          '--concurrency',
          '8',
          '--chunk-size',
          '1000',
          '--changed-only',
        ]),
      },
      runs,
    );
    return `### ${rows} rows, 2 % changed\n\n${comparison(samples)}\n\nRows sent: ${[...new Set(sent)].join(', ')}. Waiting for a job costs at least the 200 ms until its first poll.`;
  } finally {
    await rm(known, { recursive: true });
  }
}

/** Every row is known and every row changed, so that all are looked up and all are sent. */
async function manyKnown(rows, runs, url) {
  const known = await completed(rows, url);
  const [same, other] = [await input('csv', rows), await changedInput(rows, 1)];
  const imported = (file, flags) => () =>
    withState((state) => profiles(['import', file, ...FAST, ...flags, '--quiet'], { state, url }), known);
  try {
    const bytes = (await bytesIn(known)) / rows;
    const samples = await interleave(
      {
        'all changed, sent without looking': imported(other, []),
        'all changed, looked up and sent': imported(other, ['--changed-only']),
        'nothing changed, looked up': imported(same, ['--changed-only']),
      },
      runs,
    );
    const [plain, looked] = Object.values(samples);
    const share = (spread(ratios(looked, plain)).median - 1) * 100;
    return `### ${rows} fingerprints\n\n${comparison(samples)}\n\nLooking up adds ${share.toFixed(0)} % to the import. The state folder holds ${bytes.toFixed(1)} bytes for each completed profile, its database's journal and the records of requests and jobs included.`;
  } finally {
    await rm(known, { recursive: true });
  }
}

/** A state folder that has seen all rows completed. */
async function completed(rows, url) {
  const file = await input('csv', rows);
  const state = await stateFolder();
  console.error(`  completing ${rows} rows`);
  await profiles(['import', file, '--concurrency', '8', '--quiet'], { state, url });
  return state;
}

const planned =
  (file, url, known, flags = []) =>
  () =>
    withState((state) => profiles(['import', file, '--dry-run', '--quiet', ...flags], { state, url }), known);
