// What it costs to record every request before and after it is sent: the same import with and without.
import { join } from 'node:path';
import { interleave } from './measure.mjs';
import { comparison } from './report.mjs';
import { input, profiles, withSink, withState } from './workbench.mjs';

export const title = 'Recording';

const MOST = 200_000;
const HOOK = new URL('without-recording.mjs', import.meta.url).href;

/** From the usual to the worst there is: a service that answers at once, and nobody who waits for it. */
const CASES = [
  { what: 'Jobs followed, --concurrency 8, answers after 50 ms', latency: 50, flags: ['--concurrency', '8'] },
  { what: '--no-wait, answers after 50 ms', latency: 50, flags: ['--no-wait'] },
  { what: '--no-wait, answers at once', latency: 0, flags: ['--no-wait'] },
];

export async function measure({ rows, runs }) {
  const size = Math.min(rows, MOST);
  const requests = Math.ceil(size / 1000);
  const file = await input('csv', size);
  const parts = [
    `${size} rows, ${requests} requests. For each an intent is on disk before it is sent, and its acknowledgement after.`,
  ];
  for (const { what, latency, flags } of CASES) {
    const imported = (left) => () => once(file, flags, left, { latency, requests });
    const samples = await interleave(
      {
        'nothing written': imported('writing'),
        'written, not waited for': imported('waiting'),
        recorded: imported(null),
      },
      runs,
    );
    parts.push(`### ${what}\n\n${comparison(samples)}`);
  }
  return parts.join('\n\n');
}

/** One import with a sink of its own, which must have received every request. */
const once = (file, flags, left, { latency, requests }) =>
  withSink({ latency }, requests, (url) =>
    withState((state) => {
      const hook = left ? { NODE_OPTIONS: `--import ${HOOK}`, WITHOUT: left } : {};
      const env = { PROFILES_TOKEN: 'benchmark-token', XDG_CONFIG_HOME: join(state, 'config'), ...hook };
      const args = ['import', file, '--chunk-size', '1000', '--quiet', ...flags];
      return profiles(args, { state, url, env });
    }),
  );
