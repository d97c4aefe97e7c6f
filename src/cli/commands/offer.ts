/**
 * If an earlier run of the same files is unfinished, an import at a terminal asks whether to continue it
 * (contract §4).
 */

import { count, grouped } from '../../engine/numbers.js';
import type { ImportOptions } from '../../engine/options.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { Context } from '../context.js';
import { isAttended } from '../prompts/index.js';

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
    const { openPrompter } = await import('../prompts/index.js');
    pause();
    return (await openPrompter(context)).confirm(question(run), true);
  };
}

function question({ run, status, summary }: StoredRun): string {
  const sent = summary
    ? `, ${grouped(summary.rows.submitted)} of ${count(summary.rows.read, 'row')} sent`
    : '';
  const what = status === 'crashed' ? 'has crashed' : 'is unfinished';
  return `run ${run} of the same content ${what}${sent}.\nContinue it?`;
}
