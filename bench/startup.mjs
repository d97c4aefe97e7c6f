// How long a command takes that does nothing but start, beside Node that does nothing at all.
import { interleave, run } from './measure.mjs';
import { comparison, milliseconds } from './report.mjs';
import { PROFILES } from './workbench.mjs';

export const title = 'Start-up';

/** Short runs vary most, so there are many. */
const LEAST_RUNS = 15;

export async function measure({ runs }) {
  const start =
    (...args) =>
    () =>
      run(process.execPath, args);
  const cases = {
    'node -e 0': start('-e', '0'),
    'profiles --version': start(PROFILES, '--version'),
    'profiles --help': start(PROFILES, '--help'),
    'profiles lookups --help': start(PROFILES, 'lookups', '--help'),
  };
  await interleave(cases, 1); // the files are in the cache from here on
  return comparison(await interleave(cases, Math.max(runs, LEAST_RUNS)), { time: milliseconds });
}
