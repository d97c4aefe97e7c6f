/** What a user would run after an import: the summary's `next` (contract §3). Pure. */

import { isRejectedBefore, JOB_FAILED, type RequestRecord } from '../../engine/model/requests.js';
import type { Summary } from '../../engine/model.js';
import type { Problem } from '../../engine/problems.js';
import { hasEnded } from '../../engine/service/names.js';
import { count } from '../../engine/util/numbers.js';
import { OPTIONS } from '../options/index.js';
import type { Commands } from './commands.js';
import { type Command, commandText } from './hint.js';
import { shellWord } from './shell.js';

export interface Step {
  /** What the command is for. */
  what: string;
  command: string;
  /** The same command for files that others may read: without values of `--set`. */
  shared: string;
}

/** How to read the files of an earlier run again. */
export interface Again {
  paths: string[];
  flags: string[];
  /** Whether it set values for every item, which must be given again. */
  sets: boolean;
}

export interface Known {
  commands: Commands;
  /** Requests whose rows the service does not all have: `resume --failed` sends them again. */
  failed: readonly Pick<RequestRecord, 'state' | 'rows' | 'job' | 'parent' | 'failure'>[];
  /** Values that the run sets for every item, as `--set` takes them, if they are not on the command line. */
  set?: readonly string[];
  /** Where the token came from, if the region of a flag has none of its own. */
  tokenFrom?: string | undefined;
  /** File of the plan that a dry run saved. */
  plan?: string | undefined;
  /** Whether it is the plan of a run that has sent its rows. */
  isSent?: boolean;
  /** By run of `not_sent`: the paths of its files, and the flags that read them as it did. */
  again?: ReadonlyMap<string, Again>;
  /** Whether the valid rows are sent although others are rejected. */
  sendsValid?: boolean;
}

/** Flags for reports and limits of the first command only. */
const OF_ONE_RUN = '--json --ndjson --quiet --debug --dry-run --save-plan --resume --yes'.split(' ');
/** Flags that are part of a saved plan, and so need not be typed again. */
const IN_PLAN = OPTIONS.filter(
  ({ heading, commands, name }) =>
    heading === 'Sending' && commands.includes('apply') && name !== 'waitForLock',
).flatMap(({ typed, off }) => (off ? [typed, typed.replace('--', '--no-')] : [typed]));
/** More would make a command longer than a screen. */
const MOST_JOBS = 10;

/** The steps in the order in which to run them. Empty only if nothing is left to do. */
export function nextSteps(summary: Summary, known: Known): Step[] {
  const { commands } = known;
  const { status, rows, run, resume } = summary;
  // A run that is resumed follows its jobs.
  const steps = [...(resume === null ? follow(summary) : []), ...stepsOf(summary, known)];
  const isGood = ['completed', 'submitted'].includes(status) || (status === 'planned' && rows.rejected === 0);
  const look = run ? ['runs', run] : ['doctor'];
  if (steps.length === 0 && !isGood)
    steps.push({ do: run ? 'see what became of its rows' : 'check the settings', run: look });
  return steps.map((step) => ({
    what: step.do,
    command: commandText(step, commands),
    shared: commandText(step, commands.shared),
  }));
}

function stepsOf(summary: Summary, known: Known): Command[] {
  const { run, status, rows, resume, plan } = summary;
  const before = plan?.changes?.rejected ?? 0;
  if (run !== null && resume !== null) return [{ do: 'continue with', run: ['resume', run] }];
  switch (status) {
    case 'planned':
      if (rows.rejected > before && !known.sendsValid) return readInvalid(summary, known);
      if (rows.unsent && known.isSent) return sendPlanned(known, 'send it again with', ['--again']);
      if (rows.unsent) return sendPlanned(known, 'send it with');
      return before > 0 ? sendPlanned(known, 'write the rejected rows to the rejects file with') : [];
    case 'rejected':
      return readInvalid(summary, known);
    case 'held':
      return sendHeld(summary, known);
    case 'submitted':
      return sendFailed(summary, known);
    case 'failed':
    case 'partial':
      return [...sendFailed(summary, known), ...sendOthers(summary, known), ...importRejects(summary, known)];
    case 'completed':
      return [];
    default:
      return sendAll(known, 'start again with', []);
  }
}

/** The same import again; with stdin, whoever has the rows pipes them in. */
function sendAll({ commands }: Known, purpose: string, plus: readonly string[]): Command[] {
  const { paths, isOf } = commands;
  if (paths.length === 0 || !isOf('import')) return [];
  const what = paths.includes('-') ? `${purpose} (pipe the same rows in again)` : purpose;
  const sendsNothing = plus.includes('--dry-run') || plus.includes('--save-plan');
  const others = [plus.includes('--skip-invalid') && '--max-invalid', sendsNothing && '--outcomes'];
  return [
    { do: what, again: { without: [...OF_ONE_RUN, ...others.filter((flag) => flag !== false)], plus } },
  ];
}

/** What a dry run planned: the plan that it saved, if any. */
function sendPlanned(known: Known, what: string, plus: readonly string[] = []): Command[] {
  if (known.plan === undefined) return sendAll(known, what, plus);
  const without = [...OF_ONE_RUN, ...IN_PLAN];
  return [{ do: what, again: { command: 'apply', paths: [known.plan], without, plus } }];
}

/** Sends everything, once the user has looked at the changes. */
function sendHeld({ run, plan }: Summary, known: Known): Command[] {
  const { new: added = 0, changed = 0, refreshed = 0, unchanged = 0 } = plan?.changes ?? {};
  const what =
    added > 0 && changed + refreshed + unchanged === 0
      ? 'this state knows none of these profiles; if this is the first import with it, send all of them'
      : 'if these changes are right, send them';
  const plus = ['--max-changed', '100%'];
  if (known.commands.isOf('apply')) return [{ do: what, again: { without: OF_ONE_RUN, plus } }];
  const look = run === null ? [] : sendAll(known, 'see what would be sent', ['--dry-run']);
  return [...look, ...sendPlanned(known, what, plus)];
}

/**
 * Rows are invalid, and nothing was sent: with the flags that read them, all rows are sent; otherwise the valid ones.
 * A saved plan is sent as it is, so another one is needed.
 */
function readInvalid({ status, rows, causes, files }: Summary, { plan, ...known }: Known): Command[] {
  const saved = plan === undefined ? [] : ['--save-plan', plan];
  const all = rows.read - rows.filtered;
  const needed = causes.map(({ problem, rows }) => (problem ? readingFlags(problem, rows === all) : []));
  const flags = [...new Map(needed.map((words) => [words.join(' '), words])).values()].flat();
  if (flags.length > 0) {
    const dry = status === 'planned' && plan === undefined ? ['--dry-run'] : saved;
    return sendAll(known, 'import again with what reads the rejected rows', [...dry, ...flags]);
  }
  if (all - rows.rejected <= 0) {
    const names = files.map(({ path }) => shellWord(path)).join(' and ');
    return sendAll(known, `no row is valid: fix ${names}, then import again`, saved);
  }
  const valid = plan === undefined ? 'send the valid rows' : 'save a plan of the valid rows';
  return sendAll(known, `${valid}, and keep the others in the rejects file`, [...saved, '--skip-invalid']);
}

/** The flags with which the rows of a cause are read, and every other row as before. @param isOfAll whether these are all rows */
function readingFlags(problem: Problem, isOfAll: boolean): string[] {
  if (problem.code === 'stray_quotes') return ['--lenient-quotes'];
  if (problem.code === 'white_space') return ['--trim'];
  if (problem.code !== 'cells_of_other_type') return [];
  const { isWider, column, type } = problem;
  return isWider || (isOfAll && type !== 'string') ? ['--type', `${column}=${type}`] : [];
}

/** Sends the valid rows of earlier runs that sent nothing. */
function sendOthers({ not_sent = [] }: Summary, known: Known): Command[] {
  const { again, set = [], commands } = known;
  return not_sent.flatMap(({ run, files, rows }) => {
    const how = again?.get(run);
    if (how === undefined || (how.sets && set.length === 0 && !commands.wasTyped('--set'))) return [];
    const what = `send the ${count(rows, 'valid row')} of ${files.join(' and ')}`;
    return [importOf(known, what, how.paths, how.sets, [...how.flags, '--skip-invalid'])];
  });
}

function importRejects({ files, rows }: Summary, known: Known): Command[] {
  const paths = files.flatMap(({ rejects_file }) => rejects_file ?? []);
  if (rows.rejected === 0 || paths.length === 0) return [];
  const what = `fix the rows in ${paths.map(shellWord).join(' and ')}, then import ${paths.length === 1 ? 'it' : 'them'}`;
  // In all else, the rows are read as their run read them.
  return [importOf(known, what, paths, true)];
}

/** Another import, in which only the values that this one sets are kept, if it `sets` them. */
function importOf(known: Known, what: string, paths: string[], sets: boolean, flags: string[] = []): Command {
  const set = sets ? (known.set ?? []) : [];
  const plus = [...flags, ...set.flatMap((pair) => ['--set', pair])];
  const without = set.length > 0 ? ['--set'] : [];
  return { do: what, again: { command: 'import', paths, only: sets ? ['--set'] : [], without, plus } };
}

/** Sends the rows of requests that failed, are short, were refused, or are untraceable. */
function sendFailed({ run, rows }: Summary, { failed: all }: Known): Command[] {
  // Rows that were found at fault are in the rejects file.
  const failed = all.filter((r) => r.state !== 'rejected' || (r.parent === null && !isRejectedBefore(r)));
  if (run === null || failed.length === 0) return [];
  // Single rows of a failed job or a refused request may be at fault.
  const atFault = failed.filter(({ state, rows, job, failure }) => {
    return (
      rows > 1 &&
      (state === 'settled' ? job?.status === 'failed' : state !== 'unsent' || failure === JOB_FAILED)
    );
  });
  // If several failed and none completed, the search for rows at fault would not start.
  const isSearched = atFault.length > 0 && (rows.completed > 0 || atFault.length < 3);
  const what = isSearched
    ? 'find the rows at fault, and send the others again'
    : 'send the failed rows again';
  return [{ do: what, run: ['resume', run, '--failed', ...(isSearched ? ['--on-failure', 'isolate'] : [])] }];
}

function follow({ run, jobs }: Summary): Command[] {
  const open = jobs.filter((job) => !hasEnded(job)).map(({ job_id }) => job_id);
  if (open.length === 0) return [];
  const isLong = open.length > MOST_JOBS && run !== null;
  return [{ do: 'follow with', run: isLong ? ['resume', run] : ['job', ...open, '--watch'] }];
}
