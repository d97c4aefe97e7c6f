/**
 * Shows an import that never happened: each SIGUSR2 is the next event of a list, so a test decides when the screen
 * changes.
 */
import { writeFileSync } from 'node:fs';
import type { Told } from '../../../src/cli/facts/index.js';
import { createReporter } from '../../../src/cli/output/reporter.js';
import { systemClock } from '../../../src/engine/util/clock.js';
import { aJobEvent, aPlanEvent, aProgress } from '../../support/runs.js';

const job = (n: number, completed_rows: number, status = 'processing'): Told =>
  aJobEvent({ job_id: `株式会社-👍🏽-${n}`, status, completed_rows });

const events: Told[] = [
  aPlanEvent(),
  aProgress('sending', 5_000),
  job(1, 1_000),
  job(2, 0, 'queued'),
  aProgress('following', 1_000),
];

const { stdout, stderr, env } = process;
// What stood on the screen before.
for (let n = 1; n <= Number(env.PRELUDE ?? 0); n++) stdout.write(`line ${n}\n`);
const reporter = createReporter(
  { mode: 'text', form: 'shared' },
  { stdout, stderr, env, cwd: '/', flags: {}, platform: 'linux', clock: systemClock },
);
setInterval(() => {}, 60_000);

let shown = 0;
/** Signals of one kind that meet become one, so the test is told in a file how many have arrived. */
const tell = (): void => writeFileSync(env.SHOWN!, String(shown));
process.on('SIGUSR2', async () => {
  await reporter.report(events[shown++]!);
  tell();
});
tell();
