/** The result of an import as commands print it, with text and command lines instead of codes. */

import type { ImportEvent } from '../../engine/events.js';
import type { RejectionCause, Summary } from '../../engine/model.js';
import type { Commands } from '../advice/commands.js';
import { inOneLine } from '../advice/hint.js';
import { type Known, nextSteps, type Step } from '../advice/next.js';
import { warningText, wordsOf } from '../advice/words.js';

/** The summary as commands print it: `resume` is a command line, and `next` has the next steps. */
export interface PrintedSummary extends Summary {
  /** A JSON document has only the commands of the steps (`nextCommands`). */
  next: Step[];
  /** Where the token came from, if the region of a flag has none of its own. Not in a JSON document. */
  tokenFrom?: string | undefined;
}
export type PrintedEvent =
  | Exclude<ImportEvent, { type: 'summary' | 'warning' }>
  /** `text`: the message for a terminal, if it has a command on a line of its own. */
  | { type: 'warning'; message: string; text?: string; isKnown?: true }
  | { type: 'summary'; summary: PrintedSummary };

export function summaryWords(summary: Summary, known: Known): PrintedSummary {
  const { resume, plan, elapsed_seconds, ...rest } = summary;
  const { run, causes } = rest;
  const { commands } = known;
  const next = nextSteps(summary, known);
  return {
    ...rest,
    // Summaries stored by earlier versions have no causes.
    causes: (causes ?? []).map((cause) => causeWords(cause, commands)),
    next,
    ...(known.tokenFrom !== undefined && { tokenFrom: known.tokenFrom }),
    resume: run === null || resume === null ? null : commands.command('resume', run),
    ...(plan && { plan }),
    elapsed_seconds,
  };
}

/** The next steps as a JSON document has them: only their commands. */
export const nextCommands = ({ next }: Pick<PrintedSummary, 'next'>): string[] =>
  next.map(({ command }) => command);

/** Adds the hint for this command line, with the flag that helps. */
function causeWords({ problem, ...cause }: RejectionCause, commands: Commands): RejectionCause {
  return problem ? { ...cause, hint: wordsOf(problem, commands).hint ?? cause.hint } : cause;
}

/**
 * Converts the events of the engine to printed ones: codes become text, and the summary gets the next steps.
 */
export function eventWords(
  commands: Commands,
): (event: ImportEvent, known?: Omit<Known, 'commands'>) => PrintedEvent {
  const warnings: string[] = [];
  return (event, known = { failed: [] }) => {
    if (event.type === 'warning') {
      const text = warningText(event, commands);
      const message = inOneLine(text);
      warnings.push(message);
      const { isKnown } = event;
      return { type: 'warning', message, ...(text !== message && { text }), ...(isKnown && { isKnown }) };
    }
    if (event.type !== 'summary') return event;
    const { summary } = event;
    return {
      type: 'summary',
      summary: { ...summaryWords(summary, { commands, ...known }), warnings },
    };
  };
}
