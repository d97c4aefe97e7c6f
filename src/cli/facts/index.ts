/** What is said about an import, worked out once: every output is a layout of these facts. */
import type { ImportEvent } from '../../engine/events.js';
import { type Plan, type RejectionCause, type RunJob, rangesIn, type Summary } from '../../engine/model.js';
import { failureReason, isFinal } from '../../engine/service/names.js';
import { count } from '../../engine/util/numbers.js';
import { type Known, nextSteps } from '../advice/next.js';
import { wordsOf } from '../advice/words.js';
import type { Recorded, Text } from './outcome.js';
import * as outcome from './outcome.js';

export type Facts = ReturnType<typeof factsOf>;
export type JobFact = ReturnType<typeof jobFact>;
export type ResentFact = Facts['resent'][number];

/** A warning in words. `text`: the message for a terminal, if it has a command on a line of its own. */
export type Warned = { message: string; text?: string; isKnown?: true };

/** What was heard of an import before its summary. */
export type Heard = { plan?: Plan | null; warnings?: readonly Warned[]; requests?: Recorded };

export function factsOf(found: Summary, known: Known, { plan, warnings, requests }: Heard = {}) {
  const { commands, tokenFrom } = known;
  const { run, rows, status } = found;
  const texts = new outcome.Texts(plan, requests);
  // Adds the hint for this command line, with the flag that helps. Summaries of the state have no causes.
  const causes = (found.causes ?? []).map((cause) => ({
    ...cause,
    hint: (cause.problem && wordsOf(cause.problem, commands).hint) ?? cause.hint,
  }));
  const summary: Summary = {
    ...{ ...found, causes },
    ...(warnings && { warnings: warnings.map(({ message }) => message) }),
  };
  const classes = outcome.rowFacts(rows, outcome.isOnlyPlanned(status));
  return {
    /** As the engine has it, with the hints and warnings of this command line. */
    summary,
    /** Where the token came from, if the region of a flag has none of its own. */
    tokenFrom,
    outcome: outcome.outcomeOf(found),
    rows: classes,
    /** The rows in one line. */
    rowsLine: outcome.rowsLine(rows, classes),
    causes: causes.map((cause) => causeFact(cause, texts)),
    jobs: found.jobs.map((job) => jobFact(job, texts)),
    /** Requests that were sent again because their outcome was unknown. */
    resent: found.maybe_sent_twice.map((entry) => ({
      ...{ rows: entry.rows, job: entry.job_id, ranges: rangesIn(entry) },
      reason: texts.of(entry.reason),
    })),
    warnings: (warnings ?? found.warnings.map((message): Warned => ({ message }))).map((warned) => ({
      message: texts.of(warned.message),
      /** Without the command below it, which may hold values that are not for all readers. */
      sentence: texts.of((warned.text ?? warned.message).split('\n', 1)[0]!),
      /** Whether it was said about this layout before. */
      isKnown: warned.isKnown === true,
    })),
    /** The files of rejected rows. */
    rejects: found.files.flatMap(({ rejects_file }) => rejects_file ?? []),
    next: nextSteps(found, known),
    /** The command that continues the run; null if there is nothing to continue. */
    resume: run === null || found.resume === null ? null : commands.command('resume', run),
  };
}

/** Rejected rows of a file with the same cause. Only one that concerns whole rows may quote cells or the service's words. */
function causeFact(cause: RejectionCause, texts: outcome.Texts) {
  const { column, at: shared, example } = cause;
  const reason: Text =
    column === null ? texts.of(cause.reason) : { full: cause.reason, shared: cause.reason };
  const at: Text = { full: example === null ? shared : `${shared} ${example}`, shared };
  const textIn = (form: keyof Text): string => causeText({ ...cause, reason: reason[form] }, at[form]);
  return { ...cause, reason, at, text: { full: textIn('full'), shared: textIn('shared') } };
}

/** `Annual Revenue: 4,971 rows contain "$" or ","; e.g. line 2 "$1,234.00"`. */
export function causeText({ column, reason, rows, at, example }: RejectionCause, where?: string): string {
  const place = where ?? (example === null ? at : `${at} ${example}`);
  const what = column === null ? '' : `${column}: `;
  return `${what}${count(rows, 'row')}${predicate(reason, rows)}; ${rows === 1 ? '' : 'e.g. '}${place}`;
}

/** Verbs that reasons begin with, and their plural: one row `is`, several `are`. */
const PLURAL: Readonly<Record<string, string>> = {
  ...{ is: 'are', has: 'have', holds: 'hold', contains: 'contain', names: 'name', repeats: 'repeat' },
  ...{ cannot: 'cannot' },
};

function predicate(reason: string, rows: number): string {
  const [, adverb = '', verb = ''] = /^(still )?(\S*)/.exec(reason) ?? [];
  const plural = PLURAL[verb];
  // Other texts, such as the service's own words, are quoted unchanged.
  if (plural === undefined) return `: ${reason}`;
  return ` ${rows === 1 ? reason : adverb + plural + reason.slice(adverb.length + verb.length)}`;
}

function jobFact(job: RunJob, texts: outcome.Texts) {
  const { job_id: id, status, completed_rows, total_rows } = job;
  const reason = failureReason(job);
  return {
    ...{ id, status, completed: completed_rows ?? 0, total: total_rows ?? 0, ranges: rangesIn(job) },
    tone: outcome.isCompletedShort(job) ? ('warn' as const) : outcome.toneOf(status),
    reason: reason === null ? null : texts.of(reason),
    /** Whether it has not completed all its rows. */
    isShort: !isFinal(status) || (total_rows != null && completed_rows !== total_rows),
  };
}

/** Events as they are printed: warnings in words, and facts instead of the summary. */
export type Told =
  | Exclude<ImportEvent, { type: 'summary' | 'warning' }>
  | ({ type: 'warning' } & Warned)
  | { type: 'summary'; facts: Facts };

/** The summary with its next commands. Causes are without their example cells. */
export function documentOf({ summary, next, resume }: Facts): Record<string, unknown> {
  const { resume: _, plan, elapsed_seconds, ...rest } = summary;
  return {
    ...rest,
    causes: rest.causes.map(({ at, example, problem, ...cause }) => cause),
    next: next.map(({ command }) => command),
    resume,
    ...(plan && { plan }),
    elapsed_seconds,
  };
}

/**
 * The line of an event; null for `progress` and `notice`, which are for people. It has `type`, `time` (ISO 8601), and
 * `version: 1`, then the event's own fields. The fields of the summary are at the top level, so paths are the same as in
 * the document of `--json`.
 */
export function eventLine(event: Told, now: number): string | null {
  if (event.type === 'progress' || event.type === 'notice') return null;
  const { type, ...fields } = event.type === 'warning' ? { type: event.type, message: event.message } : event;
  const own = event.type === 'summary' ? documentOf(event.facts) : fields;
  return JSON.stringify({ type, time: new Date(now).toISOString(), version: 1, ...own });
}
