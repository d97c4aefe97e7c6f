// Cells remembered as short hashes: what an import pays for them, and what a plan that counts changes by key does.
import { rm } from 'node:fs/promises';
import { bytesIn, interleave, spread } from './measure.mjs';
import { comparison } from './report.mjs';
import { changedInput, FAST, input, profiles, stateFolder, withSink, withState } from './workbench.mjs';

export const title = 'Changes by key';

export async function measure({ rows, runs }) {
  return withSink({}, null, async (url) => {
    const file = await input('csv', rows);
    const states = {};
    for (const [name, flags] of [
      ['plain', []],
      ['tracked', ['-o', 'track_keys=true']],
    ]) {
      states[name] = await stateFolder();
      console.error(`  completing ${rows} rows, ${name}`);
      await profiles(['import', file, '--concurrency', '8', '--quiet', ...flags], {
        state: states[name],
        url,
      });
    }
    const sending = (flags) => () =>
      withState((state) => profiles(['import', file, ...FAST, ...flags, '--quiet'], { state, url }));
    const planning = (changed, flags) => () =>
      withState(
        (state) =>
          profiles(['import', changed, '--dry-run', '--changed-only', '--quiet', ...flags], { state, url }),
        states.tracked,
      );
    try {
      const [few, all] = [await changedInput(rows, 50), await changedInput(rows, 1)];
      const samples = await interleave(
        {
          'planned and sent': sending([]),
          'planned and sent, -o track_keys=true': sending(['-o', 'track_keys=true']),
          'plan, 2 % changed': planning(few, []),
          'plan, 2 % changed, -o track_keys=true': planning(few, ['-o', 'track_keys=true']),
          'plan, all changed': planning(all, []),
          'plan, all changed, -o track_keys=true': planning(all, ['-o', 'track_keys=true']),
        },
        runs,
      );
      const bytes = ((await bytesIn(states.tracked)) - (await bytesIn(states.plain))) / rows;
      const lists = Object.values(samples);
      const more = [0, 2, 4].map((at) => {
        const ratio = spread(lists[at + 1].map((sample, turn) => sample.cpu / lists[at][turn].cpu)).median;
        return `${((ratio - 1) * 100).toFixed(0)} %`;
      });
      return `### ${rows} rows of ten columns\n\n${comparison(samples)}\n\n\`-o track_keys=true\` adds ${more.join(', ')} of processor time to these three, and ${bytes.toFixed(1)} bytes a row to the state folder.`;
    } finally {
      for (const state of Object.values(states)) await rm(state, { recursive: true });
    }
  });
}
