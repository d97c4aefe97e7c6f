/** The result of an import as the command prints it, with texts and command lines instead of codes. */

import type { ImportEvent } from '../../engine/events.js';
import type { RejectionCause, Summary } from '../../engine/model.js';
import type { Commands } from '../again.js';
import { warningText, wordsOf } from '../messages.js';
import { type Known, nextSteps, type Step } from '../next-steps.js';

/** A result document as the command prints it: `resume` and `next` are command lines. */
export interface PrintedSummary extends Summary {
  /** Only the commands are printed. */
  next: Step[];
}
export type PrintedEvent =
  | Exclude<ImportEvent, { type: 'summary' }>
  | { type: 'summary'; summary: PrintedSummary };

export function summaryWords(summary: Summary, known: Known): PrintedSummary {
  const { resume, plan, elapsed_seconds, ...rest } = summary;
  const { run, causes } = rest;
  const { commands } = known;
  const next = nextSteps(summary, known);
  const resumed = rest.shard ? next[0]?.command : commands.command('resume', run ?? '');
  return {
    ...rest,
    // Summaries of earlier versions have no causes.
    causes: (causes ?? []).map((cause) => causeWords(cause, commands)),
    next,
    resume: run === null || resume === null ? null : (resumed ?? null),
    ...(plan && { plan }),
    elapsed_seconds,
  };
}

/** The document: steps are their commands. */
export const nextCommands = ({ next }: Pick<PrintedSummary, 'next'>): string[] =>
  next.map(({ command }) => command);

/** A cause with the flag that helps. */
function causeWords({ problem, ...cause }: RejectionCause, commands: Commands): RejectionCause {
  return problem ? { ...cause, hint: wordsOf(problem, commands).hint ?? cause.hint } : cause;
}

/**
 * Turns the events of an import into those that the command reports: texts instead of codes, and at the end the next
 * steps.
 */
export function eventWords(
  commands: Commands,
): (event: ImportEvent, known?: Omit<Known, 'commands'>) => PrintedEvent {
  const warnings: string[] = [];
  return (event, known = { failed: [] }) => {
    if (event.type === 'warning') {
      const message = warningText(event, commands);
      warnings.push(message);
      return { type: 'warning', message };
    }
    if (event.type !== 'summary') return event;
    const { summary } = event;
    return {
      type: 'summary',
      summary: { ...summaryWords(summary, { commands, ...known }), warnings },
    };
  };
}
