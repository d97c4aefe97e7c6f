// Imports of which the service holds most already: what is sent, what it costs, what is kept on disk; and resumes.
import { rm } from 'node:fs/promises';
import { bytesIn, interleave, ratios, spread } from './measure.mjs';
import { comparison } from './report.mjs';
import { changedInput, FAST, input, profiles, stateFolder, withSink, withState } from './workbench.mjs';

const CHANGED = '--changed-only';
const KEYS = ['-o', 'track_keys=true'];

/** A state folder that has seen all rows completed. */
async function completed(rows, url, flags = []) {
  const file = await input('csv', rows);
  const state = await stateFolder();
  console.error(`  completing ${rows} rows ${flags.join(' ')}`);
  await profiles(['import', file, '--concurrency', '8', '--quiet', ...flags], { state, url });
  return state;
}

/** Imports in turns. Each is a file, flags, and the state folder that it begins with. */
const imports = (url, cases, runs) =>
  interleave(
    Object.fromEntries(
      Object.entries(cases).map(([name, [file, flags, known]]) => [
        name,
        () => withState((state) => profiles(['import', file, ...flags, '--quiet'], { state, url }), known),
      ]),
    ),
    runs,
  );

/** How much more processor time the second case takes, in percent. */
function more(samples, [first, second]) {
  return `${((spread(ratios(samples[second], samples[first], 'cpu')).median - 1) * 100).toFixed(0)} %`;
}

const changedOnly = ({ rows, runs }) =>
  withSink({}, null, async (url) => {
    const folders = [];
    const known = async (count) => folders[folders.push(await completed(count, url)) - 1];
    try {
      const few = Math.round(rows / 10);
      const [all, tenth] = [await known(rows), await known(few)];
      const [same, other, file] = [
        await input('csv', rows),
        await changedInput(rows, 1),
        await changedInput(few, 50),
      ];
      const first = await imports(
        url,
        {
          plan: [file, ['--dry-run'], tenth],
          'plan, --changed-only': [file, ['--dry-run', CHANGED], tenth],
          '--changed-only, accepted': [file, [...FAST, CHANGED], tenth],
          '--changed-only, completed': [file, ['--concurrency', '8', '--chunk-size', '1000', CHANGED], tenth],
        },
        runs,
      );
      const second = await imports(
        url,
        {
          'all changed, sent without looking': [other, FAST, all],
          'all changed, looked up and sent': [other, [...FAST, CHANGED], all],
          'nothing changed, looked up': [same, [...FAST, CHANGED], all],
        },
        runs,
      );
      const bytes = ((await bytesIn(all)) / rows).toFixed(1);
      return [
        `### ${few} rows, 2 % changed\n\n${comparison(first)}`,
        `### ${rows} fingerprints\n\n${comparison(second)}`,
        `Looking up adds ${more(second, Object.keys(second))} of processor time to the import. The state folder holds ${bytes} bytes for each completed profile, its database's journal and the records of requests and jobs included.`,
      ].join('\n\n');
    } finally {
      for (const folder of folders) await rm(folder, { recursive: true });
    }
  });

/** Cells remembered as short hashes: what an import pays for them, and what a plan that counts changes by key does. */
const trackKeys = ({ rows, runs }) =>
  withSink({}, null, async (url) => {
    const [plain, tracked] = [await completed(rows, url), await completed(rows, url, KEYS)];
    try {
      const plan = ['--dry-run', CHANGED];
      const [file, few, all] = [
        await input('csv', rows),
        await changedInput(rows, 50),
        await changedInput(rows, 1),
      ];
      const pairs = {
        'planned and sent': [file, FAST],
        'plan, 2 % changed': [few, plan, tracked],
        'plan, all changed': [all, plan, tracked],
      };
      const cases = Object.entries(pairs).flatMap(([name, [input, flags, known]]) => [
        [name, [input, flags, known]],
        [`${name}, ${KEYS.join(' ')}`, [input, [...flags, ...KEYS], known]],
      ]);
      const samples = await imports(url, Object.fromEntries(cases), runs);
      const shares = Object.keys(pairs).map((name) => more(samples, [name, `${name}, ${KEYS.join(' ')}`]));
      const bytes = ((await bytesIn(tracked)) - (await bytesIn(plain))) / rows;
      return `${comparison(samples)}\n\n\`track_keys\` adds ${shares.join(', ')} of processor time to these three, and ${bytes.toFixed(1)} bytes a row to the state folder.`;
    } finally {
      for (const folder of [plain, tracked]) await rm(folder, { recursive: true });
    }
  });

/** A run that was sent without following its jobs, one row a request, is resumed. */
const resumed = ({ runs }) =>
  withSink({}, null, async (url) => {
    const states = {};
    for (const count of [2_000, 8_000]) {
      states[count] = await stateFolder();
      const flags = ['--no-wait', '--chunk-size', '1', '--concurrency', '8', '--quiet'];
      await profiles(['import', await input('csv', count), ...flags], { state: states[count], url });
    }
    const flags = ['--on-failure', 'isolate', '-o', 'interval=1ms', '--quiet'];
    const resume = (state) => () =>
      withState((copy) => profiles(['resume', '--no-input', ...flags], { state: copy, url }), state);
    try {
      const cases = Object.entries(states).map(([count, state]) => [`${count} requests`, resume(state)]);
      const samples = await interleave(Object.fromEntries(cases), runs);
      const [few, many] = Object.values(samples).map((all) => spread(all.map(({ cpu }) => cpu)).median);
      return `${comparison(samples)}\n\n8,000 requests take ${(many / few).toFixed(1)} times the processor time of 2,000; at most 5.`;
    } finally {
      for (const state of Object.values(states)) await rm(state, { recursive: true });
    }
  });

export const sections = {
  'changed-only': { title: 'Only what changed', measure: changedOnly },
  'track-keys': { title: 'Changes by key', measure: trackKeys },
  resume: { title: 'Resume', measure: resumed },
};
