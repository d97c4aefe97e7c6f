/**
 * Shows an import that never happened: each SIGUSR2 is the next event of a list, so a test decides when the screen
 * changes; without `$SHOWN` all of them come at once. Ctrl-C ends it as it ends an import.
 */
import { writeFileSync } from 'node:fs';
import type { Told } from '../../../src/cli/facts/index.js';
import { createReporter } from '../../../src/cli/output/reporter.js';
import { systemClock } from '../../../src/engine/util/clock.js';
import { aJobEvent, aPlanEvent, aProgress, aSummary, factsAbout } from '../../support/runs.js';

const job = (n: number, completed_rows: number, status = 'processing'): Told =>
  aJobEvent({ job_id: `株式会社-👍🏽-${n}`, status, completed_rows });

const events: Told[] = [
  aPlanEvent(),
  aProgress('sending', 5_000),
  job(1, 1_000),
  job(2, 0, 'queued'),
  aProgress('following', 1_000),
  { type: 'warning', message: 'column zip was an integer last time' },
  job(1, 5_000, 'completed'),
  { type: 'summary', facts: factsAbout(aSummary()) },
];

const { stdout, stderr, env } = process;
// What stood on the screen before.
for (let n = 1; n <= Number(env.PRELUDE ?? 0); n++) stdout.write(`line ${n}\n`);
const reporter = createReporter({
  mode: 'text',
  stdout,
  stderr,
  env,
  cwd: '/',
  flags: {},
  clock: systemClock,
});
const going = setInterval(() => {}, 60_000);

async function end(code: number): Promise<void> {
  process.exitCode = code;
  clearInterval(going);
  await reporter.close();
}

let shown = 0;
/** Signals of one kind that meet become one, so the test is told in a file how many have arrived. */
function tell(): void {
  if (env.SHOWN) writeFileSync(env.SHOWN, String(shown));
}
async function next(): Promise<void> {
  const event = events[shown++];
  if (event) await reporter.report(event);
  tell();
  if (shown === events.length) await end(0);
}

process.on('SIGINT', () => void end(130));
process.on('SIGUSR2', () => void next());
tell();
// Nobody to wait for: all at once.
if (!env.SHOWN) for (const _ of events) void next();
