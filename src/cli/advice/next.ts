/** The commands that a user would run after an import: the summary's `next` (contract §3). Pure. */
import type { Summary } from '../../engine/model.js';
import { count } from '../../engine/numbers.js';
import type { Problem } from '../../engine/problems.js';
import { hasEnded } from '../../engine/service/names.js';
import { isRejectedBefore, type RequestRecord } from '../../engine/state/requests.js';
import type { Changes, Commands } from './commands.js';
import { limitFlags } from './input-words.js';
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
  /** By run of `not_sent`: the paths of its files, and the flags that read them as it did. */
  again?: ReadonlyMap<string, Again>;
  /** Whether the valid rows are sent although others are rejected. */
  sendsValid?: boolean;
}

/** Flags that are repeated for a rejects file: in all else, its rows are read as its run read them. */
const OF_REJECTS = ['--set'];
/** Flags for reports and limits of the first command only. */
const OF_ONE_RUN = [
  '--json',
  '--ndjson',
  '--quiet',
  '--debug',
  '--dry-run',
  '--save-plan',
  '--resume',
  '--yes',
];
/** Flags that are part of a saved plan, and so need not be typed again. */
const IN_PLAN = [
  '--canary',
  '--max-changed',
  '--concurrency',
  '--no-wait',
  '--wait',
  '--on-failure',
  ...['interval', 'retries', 'retry_delay', 'max_retry_after', 'busy_timeout', 'isolate_jobs'].map(
    (key) => `-o ${key}`,
  ),
];
/** More would make a command longer than a screen. */
const MOST_JOBS = 10;

/** The steps in the order in which to run them. Empty only if nothing is left to do. */
export function nextSteps(summary: Summary, known: Known): Step[] {
  // A run that is resumed follows its jobs.
  const open = summary.resume === null ? follow(summary, known) : [];
  const steps = [...open, ...stepsOf(summary, known)];
  if (steps.length > 0 || isGood(summary)) return steps;
  const { run } = summary;
  return [
    run === null
      ? step(known, 'check the settings', ({ command }) => command('doctor'))
      : step(known, 'see what became of its rows', ({ command }) => command('runs', run)),
  ];
}

const isGood = ({ status, rows }: Summary): boolean =>
  status === 'completed' || status === 'submitted' || (status === 'planned' && rows.rejected === 0);

function stepsOf(summary: Summary, known: Known): Step[] {
  const { run, status, rows, resume, plan } = summary;
  const before = plan?.changes?.rejected ?? 0;
  if (run !== null && resume !== null) {
    return [step(known, 'continue with', ({ command }) => command('resume', run))];
  }
  switch (status) {
    case 'planned':
      if (rows.rejected > before && !known.sendsValid) return readInvalid(summary, known);
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
    case 'stopped':
    case 'interrupted':
    case 'timed_out':
      return sendAll(known, 'start again with', []);
    case 'completed':
      return [];
  }
}

function step({ commands }: Known, what: string, compose: (commands: Commands) => string): Step {
  return { what, command: compose(commands), shared: compose(commands.shared) };
}

/** The same import again; not possible with stdin. */
function sendAll(known: Known, what: string, plus: readonly string[]): Step[] {
  const { paths } = known.commands;
  if (paths.length === 0 || paths.includes('-') || !known.commands.isOf('import')) return [];
  const without = [
    ...OF_ONE_RUN,
    ...(plus.includes('--skip-invalid') ? ['--max-invalid'] : []),
    ...(plus.includes('--dry-run') || plus.includes('--save-plan') ? ['--outcomes'] : []),
  ];
  return [step(known, what, ({ again }) => again({ without, plus }))];
}

/** What a dry run planned: the plan that it saved, if any. */
function sendPlanned(known: Known, what: string, plus: readonly string[] = []): Step[] {
  const { plan } = known;
  if (plan === undefined) return sendAll(known, what, plus);
  const without = [...OF_ONE_RUN, ...IN_PLAN];
  return [step(known, what, ({ again }) => again({ command: 'apply', paths: [plan], without, plus }))];
}

/** Sends everything, once the user has looked at the changes. */
function sendHeld({ run, plan }: Summary, known: Known): Step[] {
  const { commands } = known;
  const {
    new: added,
    changed,
    refreshed,
    unchanged,
  } = plan?.changes ?? { new: 0, changed: 0, refreshed: 0, unchanged: 0 };
  const isFirst = added > 0 && changed + refreshed + unchanged === 0;
  const what = isFirst
    ? 'this state knows none of these profiles; if this is the first import with it, send all of them'
    : 'if these changes are right, send them';
  const all = ['--max-changed', '100%'];
  if (commands.isOf('apply')) {
    return [step(known, what, ({ again }) => again({ without: OF_ONE_RUN, plus: all }))];
  }
  const look = run === null ? [] : sendAll(known, 'see what would be sent', ['--dry-run']);
  return [...look, ...sendPlanned(known, what, all)];
}

/**
 * Rows are invalid, and nothing was sent: with the flags that read them, all rows are sent; otherwise the valid ones.
 * A saved plan is sent as it is, so another one is needed.
 */
function readInvalid({ status, rows, causes, files }: Summary, { plan, ...known }: Known): Step[] {
  const saved = plan === undefined ? [] : ['--save-plan', plan];
  const all = rows.read - rows.filtered;
  const flags = new Map<string, string[]>();
  for (const { problem, rows } of causes.toSorted((a, b) => neededBy(a) - neededBy(b))) {
    const words = problem ? readingFlags(problem, rows === all) : [];
    // Of a setting, the largest value is enough for all causes.
    const key = problem?.code === 'over_limit' ? problem.option : words.join(' ');
    if (words.length > 0) flags.set(key, words);
  }
  if (flags.size > 0) {
    const dry = status === 'planned' && plan === undefined ? ['--dry-run'] : saved;
    return sendAll(known, 'import again with what reads the rejected rows', [
      ...dry,
      ...[...flags.values()].flat(),
    ]);
  }
  if (all - rows.rejected <= 0) {
    const names = files.map(({ path }) => shellWord(path)).join(' and ');
    return sendAll(known, `no row is valid: fix ${names}, then import again`, saved);
  }
  const kept = 'keep the others in the rejects file';
  return plan === undefined
    ? sendAll(known, `send the valid rows, and ${kept}`, ['--skip-invalid'])
    : sendAll(known, `save a plan of the valid rows, and ${kept}`, [...saved, '--skip-invalid']);
}

const neededBy = ({ problem }: Summary['causes'][number]): number =>
  problem?.code === 'over_limit' ? problem.needed : 0;

/** The flags with which the rows of a cause are read, and every other row as before. @param isOfAll whether these are all rows */
function readingFlags(problem: Problem, isOfAll: boolean): string[] {
  switch (problem.code) {
    case 'cells_of_other_type':
      return problem.isWider || (isOfAll && problem.type !== 'string')
        ? ['--type', `${problem.column}=${problem.type}`]
        : [];
    case 'stray_quotes':
      return ['--lenient-quotes'];
    case 'white_space':
      return ['--trim'];
    case 'over_limit':
      return limitFlags(problem);
    default:
      return [];
  }
}

/** Sends the valid rows of earlier runs that sent nothing. */
function sendOthers({ not_sent = [] }: Summary, known: Known): Step[] {
  return not_sent.flatMap(({ run, files, rows }) => {
    const how = known.again?.get(run);
    if (how === undefined || (how.sets && !known.set?.length && !known.commands.wasTyped('--set'))) return [];
    const what = `send the ${count(rows, 'valid row')} of ${files.join(' and ')}`;
    const plus = [...how.flags, '--skip-invalid'];
    return [importOf(known, what, { paths: how.paths, only: how.sets ? ['--set'] : [], plus })];
  });
}

function importRejects({ files, rows }: Summary, known: Known): Step[] {
  if (rows.rejected === 0) return [];
  const paths = files.flatMap(({ rejects_file }) => (rejects_file === null ? [] : [rejects_file]));
  if (paths.length === 0) return [];
  const what = `fix the rows in ${paths.map(shellWord).join(' and ')}, then import ${paths.length === 1 ? 'it' : 'them'}`;
  return [importOf(known, what, { paths, only: OF_REJECTS })];
}

/** Another import, with the values that this one sets, if `only` keeps them. */
function importOf(
  known: Known,
  what: string,
  { only, plus = [], ...changes }: Pick<Changes, 'paths' | 'only' | 'plus'>,
): Step {
  const set = only?.includes('--set') ? (known.set ?? []) : [];
  return step(known, what, ({ again, isShared }) =>
    again({
      ...changes,
      command: 'import',
      ...(only && { only }),
      without: set.length > 0 ? ['--set'] : [],
      plus: [...plus, ...set.flatMap((pair) => ['--set', isShared ? pair.replace(/=.*$/s, '=…') : pair])],
    }),
  );
}

/** Sends the rows of requests that failed, are short, were refused, or are untraceable. */
function sendFailed({ run, rows }: Summary, known: Known): Step[] {
  // Rows that were found at fault are in the rejects file.
  const failed = known.failed.filter(
    (r) => r.state !== 'rejected' || (r.parent === null && !isRejectedBefore(r)),
  );
  if (run === null || failed.length === 0) return [];
  const atFault = failed.filter(isAtFault);
  // If several failed and none completed, the search for rows at fault would not start.
  const isolates = atFault.length > 0 && (rows.completed > 0 || atFault.length < 3);
  const what = isolates ? 'find the rows at fault, and send the others again' : 'send the failed rows again';
  return [
    step(known, what, ({ command }) =>
      command('resume', run, '--failed', ...(isolates ? ['--on-failure', 'isolate'] : [])),
    ),
  ];
}

/** Whether single rows of a failed job or a refused request may be at fault. */
const isAtFault = ({ state, rows, job }: Known['failed'][number]): boolean =>
  rows > 1 && (state === 'settled' ? job?.status === 'failed' : state !== 'unsent');

function follow({ run, jobs }: Summary, known: Known): Step[] {
  const open = jobs.filter((job) => !hasEnded(job)).map(({ job_id }) => job_id);
  if (open.length === 0) return [];
  return [
    step(known, 'follow with', ({ command }) =>
      open.length > MOST_JOBS && run !== null ? command('resume', run) : command('job', ...open, '--watch'),
    ),
  ];
}
