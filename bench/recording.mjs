// What it costs to record every request before and after it is sent: the same import with and without.
import { join } from 'node:path';
import { interleave } from './measure.mjs';
import { comparison } from './report.mjs';
import { input, profiles, withSink, withState } from './workbench.mjs';

export const title = 'Recording';

const MOST = 200_000;
const SEND = ['--chunk-size', '1000', '--no-wait', '--quiet'];
const HOOK = new URL('without-recording.mjs', import.meta.url).href;

export async function measure({ rows, runs }) {
  const size = Math.min(rows, MOST);
  const file = await input('csv', size);
  const parts = [];
  for (const [latency, concurrency] of [
    [0, 1],
    [50, 1],
    [50, 8],
  ]) {
    const flags = [...SEND, '--concurrency', String(concurrency)];
    const samples = await withSink({ latency }, null, (url) =>
      interleave(
        {
          'nothing written': imported(file, flags, url, 'writing'),
          'written, not waited for': imported(file, flags, url, 'waiting'),
          recorded: imported(file, flags, url, null),
        },
        runs,
      ),
    );
    parts.push(
      `### A service that answers after ${latency} ms, --concurrency ${concurrency}\n\n${comparison(samples)}`,
    );
  }
  const what = `${size} rows, ${Math.ceil(size / 1000)} requests; for each an intent before it and an acknowledgement after it, both on disk.`;
  return [what, ...parts].join('\n\n');
}

const imported = (file, flags, url, left) => () =>
  withState((state) => {
    const hook = left ? { NODE_OPTIONS: `--import ${HOOK}`, WITHOUT: left } : {};
    const env = { PROFILES_TOKEN: 'benchmark-token', XDG_CONFIG_HOME: join(state, 'config'), ...hook };
    return profiles(['import', file, ...flags], { state, url, env });
  });
