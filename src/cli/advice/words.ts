/**
 * The texts for the engine's problems: sentences, hints with the flags of this command line, and next
 * commands. The engine provides a code and data. A code without texts here does not compile.
 */
import { formatDuration } from '../../engine/duration.js';
import type { ProfilesError } from '../../engine/errors.js';
import { NUMBERS } from '../../engine/options.js';
import type { Problem, ProblemOf, Warning } from '../../engine/problems.js';
import { type Commands, commandsOf } from './commands.js';
import { hintOf, limitFlags, toRun } from './hint.js';
import { type Dictionary, INPUT_WORDS, type Words } from './input-words.js';
import { shellWord } from './shell.js';

const STATE_FOLDER = {
  permission: 'check the folder’s owner and permissions',
  read_only: 'make the folder and its file system writable',
  none: 'free some disk space and check the folder’s permissions',
};
const checkSettings = ({ command }: Commands): string =>
  toRun('to see each setting and where it comes from', command('config', 'list'));
const listsRuns = ({ command }: Commands): string => toRun('to list all imports', command('runs'));
const checksTheRest = ({ command, isOf }: Commands): string =>
  isOf('doctor') || isOf('config') ? '' : `\n${toRun('to check the rest', command('doctor'))}`;

/** Flags with placeholders for the private values of a run. */
function flagsOf({ set, where }: ProblemOf<'values_missing' | 'values_differ'>): string {
  return [
    ...set.map((key) => `--set ${shellWord(`${key}=`)}…`),
    ...where.map((column) => `--where ${shellWord(column)}…`),
  ].join(' ');
}

/**
 * The step to skip a refused request. None for `resume`, which does not take the flag, and none for stdin,
 * which cannot be read again.
 */
function skipsRequest({ again, isOf, paths }: Commands): string[] {
  const isImport = isOf('import') && !paths.includes('-');
  if (!isImport && !isOf('apply')) return [];
  const plus = [...(isImport ? ['--resume'] : []), '--on-failure', 'continue'];
  return [toRun('to skip the whole request', again({ without: ['--full'], plus }))];
}

/** Commands that can wait for a lock. */
const LOCKING = ['import', 'apply', 'resume'];

/**
 * What to do if the service asks to wait longer than allowed: resume later, or allow it with a setting, which `resume`
 * and `identify` do not take.
 */
function orAllow(wait: string, setting: string, value: string, { again, isOf, paths }: Commands): string {
  const isImport = isOf('import') && !paths.includes('-');
  if (!isImport && !isOf('apply')) return `${isOf('identify') ? 'try again' : 'resume'} ${wait}`;
  const plus = [...(isImport ? ['--resume'] : []), '-o', `${setting}=${value}`];
  return toRun(`resume ${wait}, or allow it`, again({ without: ['--full'], plus }));
}

/** Commands for callers without a command line. */
const BARE = commandsOf({ argv: [], world: { env: {}, platform: 'linux', cwd: '/' } });
const WORDS: Dictionary = {
  ...INPUT_WORDS,

  too_many_columns: ({ columns }, { again }) => {
    const wrong = 'leave some out of the export; for a CSV, check that its delimiter is the right one';
    if (columns > NUMBERS.maxColumns.most) return { hint: wrong };
    const next = again({ plus: ['-o', `max_columns=${columns}`] });
    return { hint: toRun(`${wrong}; to read them all`, next) };
  },
  over_limit: (problem) => ({ hint: `${limitFlags(problem).join(' ')} reads them` }),
  zone_open: (_, { again }) => ({
    hint: toRun(
      'write it there, or name it with --zone, such as',
      again({ plus: ['--zone', 'Europe/Berlin'] }),
    ),
  }),
  no_input: ({ path, what }, { command }) => ({
    hint:
      what === 'plan'
        ? toRun('to send it', command('apply', path))
        : 'name it with --mapping, beside the file that it is for',
  }),

  isolation_not_started: () => ({
    hint: 'check the mapping; if single rows are at fault after all, import the file again with a smaller --chunk-size',
  }),

  state_folder: ({ reason }) => ({
    hint: `${STATE_FOLDER[reason ?? 'none']}, or choose another folder with --state`,
  }),
  state_damaged: (_, { state }) => ({
    hint: `restore a copy of ${state ?? 'it'}, or choose another folder or database with --state: there, every row is new, and nothing can be resumed`,
  }),
  state_emptied: ({ file }) => ({
    hint: `restore a copy of it, or begin again, where every row is new and nothing can be resumed: rm ${shellWord(file)}`,
  }),
  not_private: ({ path, command }) => ({
    hint:
      command === null
        ? `use a folder of its own, such as --state ${shellWord(`${path}/profiles`)}`
        : `${command} ${shellWord(path)}`,
  }),
  state_version: () => ({
    hint: 'use the version of profiles that wrote it, or choose another folder or database with --state',
  }),
  state_moved: ({ to }, { command }) => ({
    hint: toRun(
      `import with --state ${shellWord(to)}, or set it for good`,
      command('config', 'set', 'state', to),
    ),
  }),
  state_incomplete: () => ({ hint: 'finish the copy: run the same profiles state migrate command again' }),
  state_went_back: () => ({
    hint: 'the summary names what was sent; what the database has no record of is sent again when you continue',
  }),
  lock_lost: (_, { command }) => ({
    hint: toRun(
      'another import may have started in the meantime; look, then resume this one',
      command('runs'),
    ),
  }),
  import_running: ({ run }, { command, isOf }) => {
    const does = LOCKING.some(isOf) ? ' (--wait-for-lock 10m does)' : '';
    return {
      hint: toRun(
        `wait for it to end${does}; to see its progress`,
        run === null ? command('runs') : command('runs', run),
      ),
    };
  },
  rejects_of_unknown_run: ({ path }) => ({
    hint: `put ${shellWord(`${path}.json`)} beside it, use the state that its run used, or say what the columns are: --mapping <file>, --type '*=string' (all columns are text), or --type '*=auto'`,
  }),
  constants_missing: ({ keys }) => ({
    hint: `repeat ${keys.map((key) => `--set ${shellWord(`${key}=`)}…`).join(' ')}, or leave a key out with --exclude`,
  }),
  rejects_file: () => ({ hint: 'choose a writable file with --rejects <path>' }),

  run_not_unfinished: (_, commands) => ({ hint: listsRuns(commands) }),
  plan_begun: (_, { again }) => ({
    hint: toRun('to continue it, or to see that it has finished', again({})),
  }),
  resumable: ({ run }, { command }) => ({ hint: toRun('continue with', command('resume', run)) }),
  input_changed: ({ paths, kind, id }, { again, isOf }) => {
    const named = [...(kind ? ['--kind', kind] : []), ...(id ? ['--id', id] : [])];
    const line = isOf('import')
      ? again({ without: ['--resume'] })
      : again({ command: 'import', paths, only: [], plus: named });
    const elsewhere = isOf('resume')
      ? [`if it is elsewhere now, add --input <new path of ${paths.join(', ')}>`]
      : [];
    const hint = [toRun('restore the old content, or import the file again', line), ...elsewhere];
    return { hint: hint.join('\n') };
  },
  values_missing: (problem) => ({ hint: `add them: ${flagsOf(problem)}` }),
  values_differ: (problem) => ({
    hint: `repeat the values that the run began with: ${flagsOf(problem)}`,
  }),
  run_input: ({ path }) => ({
    hint: `name a file with the same content: add --input <new path of ${path}>`,
  }),
  jobs_unfinished: ({ jobs }, { command }) => ({
    hint: toRun('to follow them', command('job', ...jobs, '--watch')),
  }),

  plan_newer: () => ({ hint: 'upgrade profiles, or make the plan with this version' }),
  not_a_plan: (_, { command }) => ({
    hint: toRun('to save one', command('import', 'companies.csv', '--save-plan', 'plan.json')),
  }),
  plan_edited: () => ({ hint: 'get the file as it was saved, or make a new plan' }),
  plan_elsewhere: ({ region, account }, { again }) => {
    const plus = [
      '--region',
      region,
      ...(account === null || region === 'sandbox' ? [] : ['--account', account]),
    ];
    const typed = again({ without: ['--region', '--account', '--base-url'], plus });
    return { hint: toRun('apply it there', typed) };
  },
  plan_input: ({ path }) => ({
    hint: [
      `if the file has moved: add --input <new path of ${path}>`,
      'if it has changed: make a new plan',
    ].join('\n'),
  }),
  plan_outdated: () => ({}),

  bad_job_id: (_, { command }) => ({ hint: toRun('to list the known jobs', command('jobs')) }),
  http_host: ({ host }) => ({
    hint: `use https://, or set PROFILES_ALLOW_HTTP=${host} if you trust that host and the network to it`,
  }),
  no_lookup_host: () => ({ hint: 'set lookup_base_url for this region, or add --lookup-base-url' }),
  token_refused: (_, { command, account }) => ({
    hint: toRun(
      'check the API key (PROFILES_TOKEN, PROFILES_TOKEN_FILE, or in the config file) and that it belongs to this region; to set another one',
      command('config', 'set', account === null ? 'token' : `accounts.${account}.token`),
    ),
  }),
  wrong_address: (_, commands) => ({
    hint: `check the host and the path of the base URL\n${checkSettings(commands)}`,
  }),
  read_refused: (_, { command }) => ({
    hint: [
      'check the base URL and, for a job, its id',
      toRun('to see the settings', command('config', 'list')),
      toRun('to list the known jobs', command('jobs')),
    ].join('\n'),
  }),
  no_answer: (_, commands) => ({
    hint: `check the network, the base URL and the proxy settings${checksTheRest(commands)}`,
  }),
  no_answer_in_time: ({ timeoutMs }) => ({
    hint: `check the network and the proxy settings, or allow more than ${formatDuration(timeoutMs)} with -o request_timeout`,
  }),
  not_the_service: (_, commands) => ({
    hint: `sign in to the network if it asks you to, and check the proxy settings and the base URL${checksTheRest(commands)}`,
  }),
  busy_too_long: (_, commands) => ({ hint: orAllow('later', 'busy_timeout', '2h', commands) }),
  retry_after_too_long: ({ waitMs }, commands) => ({
    hint: orAllow('after that time', 'max_retry_after', `${Math.ceil(waitMs / 60_000)}m`, commands),
  }),
  outcomes_file: () => ({ hint: 'choose another file with --outcomes <file>' }),
  report_file: () => ({ hint: 'choose another file with --report <file>' }),
  canary_not_completed: ({ run }, { command }) => ({
    hint: [
      'rows or mapping at fault: fix them and import again',
      toRun('service fixed: send the same rows again as the new canary', command('resume', run)),
    ].join('\n'),
  }),
  request_refused: ({ run }, commands) => ({
    hint: [
      toRun(
        'if single rows are at fault, find them',
        commands.command('resume', run, '--on-failure', 'isolate'),
      ),
      toRun('if the service is fixed, send the same rows again', commands.command('resume', run)),
      ...skipsRequest(commands),
    ].join('\n'),
  }),
};

/** The texts for a problem. @param commands composes commands for this command line */
export function wordsOf(problem: Problem, commands: Commands = BARE): Words {
  return (WORDS[problem.code] as (problem: Problem, commands: Commands) => Words)(problem, commands);
}
/** An error as text. @param commands composes commands for this command line */
export function errorWords(
  error: ProfilesError,
  commands: Commands = BARE,
): { message: string; hint: string | undefined } {
  const words: Words = error.problem ? wordsOf(error.problem, commands) : {};
  return {
    message: words.message ?? error.message,
    hint: words.hint ?? hintOf(error)?.(commands) ?? error.hint,
  };
}

/** A warning as text, with its hint; a command in it is a line of its own. */
export function warningText({ message, problem }: Warning, commands: Commands = BARE): string {
  const { hint } = problem ? wordsOf(problem, commands) : {};
  if (hint === undefined) return message;
  return hint.includes('\n') ? `${message}\n${hint}` : `${message}; ${hint}`;
}
