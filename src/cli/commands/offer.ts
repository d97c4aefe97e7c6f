/**
 * If an earlier run of the same files is unfinished, an import at a terminal asks whether to continue it
 * (contract §4).
 */

import { count, grouped } from '../../engine/numbers.js';
import type { ImportOptions } from '../../engine/options.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { Context } from '../context.js';
import { isAttended } from './confirm.js';

/**
 * The question; undefined if there is no terminal to ask at, or if a flag already decides about such a run.
 */
export function offerOf(
  { resume, full, dryRun }: ImportOptions,
  context: Context,
  pause: () => void,
): ((run: StoredRun) => Promise<boolean>) | undefined {
  if (resume || full || dryRun || !isAttended(context)) return undefined;
  return async (run) => {
    const { openPrompt } = await import('./config/prompt.js');
    pause();
    const prompt = openPrompt(context);
    for (;;) {
      const answer = (await prompt.ask(question(run))).trim().toLowerCase();
      if (['', 'y', 'yes'].includes(answer)) return true;
      if (['n', 'no'].includes(answer)) return false;
    }
  };
}

function question({ run, summary }: StoredRun): string {
  const sent = summary
    ? `, ${grouped(summary.rows.submitted)} of ${count(summary.rows.read, 'row')} sent`
    : '';
  return `run ${run} of the same content is unfinished${sent}.\nContinue it? Enter continues, n starts again: `;
}
