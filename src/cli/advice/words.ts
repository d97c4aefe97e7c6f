/**
 * The texts for the engine's problems, and for errors and warnings with one. The engine provides a code and data; a code
 * without texts here does not compile.
 */

import type { ProfilesError } from '../../engine/errors.js';
import type { Problem, Warning } from '../../engine/problems.js';
import { formatDuration } from '../../engine/util/duration.js';
import type { Commands } from './commands.js';
import { type Dictionary, hintOf, hintText, type Line, type Said, type Words } from './hint.js';
import HINTS from './hints.json' with { type: 'json' };
import { INPUT_WORDS } from './input-words.js';
import { shellWord } from './shell.js';

const STATE_FOLDER = {
  permission: 'check the folder’s owner and permissions',
  read_only: 'make the folder and its file system writable',
  none: 'free some disk space and check the folder’s permissions',
};
export const LIST_RUNS: Line = { do: 'to list all imports', run: ['runs'] };
export const LIST_JOBS: Line = { do: 'to list the known jobs', run: ['jobs'] };
const checksTheRest = ({ isOf }: Commands): Line[] =>
  isOf('doctor') ? [] : [{ do: 'to check the rest', run: ['doctor'] }];

/** Flags with placeholders for private values. */
const privateFlags = ({ set, where }: { set: readonly string[]; where: readonly string[] }): string =>
  [
    ...set.map((key) => `--set ${shellWord(`${key}=`)}…`),
    ...where.map((name) => `--where ${shellWord(name)}…`),
  ].join(' ');

/**
 * The same command, continuing the run, with other flags. None for `identify`, which does not take these flags, and none
 * for stdin, which cannot be read again.
 */
function continued(what: string, plus: readonly string[], { isOf, paths }: Commands, run?: string): Line[] {
  const isImport = isOf('import') && !paths.includes('-');
  if (!isImport && !isOf('apply') && !isOf('resume')) return [];
  // `resume --failed` has opened the run again: now it is an unfinished one.
  const without = ['--full', '--failed'];
  const named = run !== undefined && isOf('resume') ? { paths: [run] } : {};
  return [{ do: what, again: { ...named, without, plus: [...(isImport ? ['--resume'] : []), ...plus] } }];
}

/** What to do if the service asks to wait longer than allowed: resume later, or allow it with a setting. */
function orAllow(wait: string, setting: string, commands: Commands): readonly Line[] {
  const allowed = continued(`resume ${wait}, or allow it`, ['-o', setting], commands);
  return allowed.length > 0 ? allowed : [`${commands.isOf('identify') ? 'try again' : 'resume'} ${wait}`];
}

const WORDS: Dictionary = {
  ...HINTS,
  ...INPUT_WORDS,

  no_input: ({ path, what }) =>
    what === 'plan'
      ? { do: 'to send it', run: ['apply', path] }
      : 'name it with --mapping, beside the file that it is for',

  state_folder: ({ reason }) => `${STATE_FOLDER[reason ?? 'none']}, or choose another folder with --state`,
  state_damaged: (_, { state }) =>
    `restore a copy of ${state ?? 'it'}, or choose another folder or database with --state: there, every row is new, and nothing can be resumed`,
  not_private: ({ path, command }) =>
    command === null
      ? `use a folder of its own, such as --state ${shellWord(`${path}/profiles`)}`
      : `${command} ${shellWord(path)}`,
  import_running: ({ run }, { isOf }) => {
    const does = ['import', 'apply', 'resume'].some(isOf) ? ' (--wait-for-lock 10m does)' : '';
    return { do: `wait for it to end${does}; to see its progress`, run: ['runs', ...(run ? [run] : [])] };
  },
  constants_missing: ({ keys }) =>
    `repeat ${privateFlags({ set: keys, where: [] })}, or leave a key out with --exclude`,

  nothing_to_resume: ({ run, isUnfinished, hasFailed, what }) => {
    if (run === null) return LIST_RUNS;
    if (isUnfinished) return { do: 'finish it first', run: ['resume', run] };
    if (what !== undefined) return { do: what, run: ['resume', run, '--failed', '--on-failure', 'isolate'] };
    return hasFailed
      ? { do: 'send its failed rows again', run: ['resume', run, '--failed'] }
      : { do: 'to see what became of its rows', run: ['runs', run] };
  },
  // Whoever knows how its rows were read adds the import of a recorded run.
  input_changed: ({ path }, { isOf }) =>
    isOf('import')
      ? { do: 'restore the old content, or import the file again', again: { without: ['--resume'] } }
      : [
          'restore the old content, or import the file again',
          ...(isOf('resume') ? [`if it is elsewhere now, add --input <new path of ${path}>`] : []),
        ],
  values_missing: (problem) => `add them: ${privateFlags(problem)}`,
  values_differ: (problem) => `repeat the values that the run began with: ${privateFlags(problem)}`,
  jobs_unfinished: ({ jobs }) => ({ do: 'to follow them', run: ['job', ...jobs, '--watch'] }),

  plan_elsewhere: ({ region, account }) => {
    const owner = account === null || region === 'sandbox' ? [] : ['--account', account];
    const without = ['--region', '--account', '--base-url'];
    return { do: 'apply it there', again: { without, plus: ['--region', region, ...owner] } };
  },

  token_refused: (_, { account, tokenVariable }) =>
    tokenVariable === null
      ? {
          do: 'check the API key (PROFILES_TOKEN, PROFILES_TOKEN_FILE, or in the config file) and that it belongs to this region; to set another one',
          run: ['config', 'set', account === null ? 'token' : `accounts.${account}.token`],
        }
      : // It goes before the config file.
        `check the API key in ${tokenVariable}, and that it belongs to this region`,
  no_answer: (_, commands) => [
    'check the network, the base URL and the proxy settings',
    ...checksTheRest(commands),
  ],
  no_answer_in_time: ({ timeoutMs }) =>
    `check the network and the proxy settings, or allow more than ${formatDuration(timeoutMs)} with -o request_timeout`,
  not_the_service: (_, commands) => [
    'sign in to the network if it asks you to, and check the proxy settings and the base URL',
    ...checksTheRest(commands),
  ],
  busy_too_long: (_, commands) => orAllow('later', 'busy_timeout=2h', commands),
  retry_after_too_long: ({ waitMs }, commands) =>
    orAllow('after that time', `max_retry_after=${Math.ceil(waitMs / 60_000)}m`, commands),
  request_refused: ({ run }, commands) => [
    { do: 'if single rows are at fault, find them', run: ['resume', run, '--on-failure', 'isolate'] },
    { do: 'if the service is fixed, send the same rows again', run: ['resume', run] },
    ...continued('to skip the whole request', ['--on-failure', 'continue'], commands, run),
  ],
};

/**
 * What is said, with the data of the problem where the text names them: `{path}` as it is, and what has `<path>` in it as
 * a word for the shell, which may have its flag before it: `{<path>.json}`, `{--type <column>=string}`.
 */
function filled(said: Said, problem: Problem): Said {
  const data = (all: string, name: string): string => String((problem as never)[name] ?? all);
  // In one pass: what is put in may have braces.
  const fill = (text: string): string =>
    text.replace(/\{(\w+)\}|\{(--\S+ )?([^{}]*<\w+>[^{}]*)\}/g, (all, name?: string, flag = '', word = '') =>
      name === undefined ? flag + shellWord(word.replace(/<(\w+)>/g, data)) : data(all, name),
    );
  return JSON.parse(JSON.stringify(said), (_, part) =>
    typeof part === 'string' ? fill(part) : part,
  ) as Said;
}

/** What is said about a problem, with its commands as data. */
export function saidOf(problem: Problem, commands: Commands): Words {
  const entry = WORDS[problem.code] as Dictionary['plan_newer'];
  const said = typeof entry === 'function' ? entry(problem as never, commands) : filled(entry, problem);
  const isWords = typeof said === 'object' && !('length' in said) && !('do' in said);
  return isWords ? said : { hint: said };
}

/** The texts for a problem. @param commands composes commands for this command line */
export function wordsOf(problem: Problem, commands: Commands) {
  const { message, hint } = saidOf(problem, commands);
  return { message, hint: hint && hintText(hint, commands) };
}

/** An error as text. @param commands composes commands for this command line */
export function errorWords(error: ProfilesError, commands: Commands) {
  const { message, hint } = error.problem ? wordsOf(error.problem, commands) : {};
  return { message: message ?? error.message, hint: hintOf(error, commands) ?? hint ?? error.hint };
}

/** A warning as text, with its hint; a command in it is a line of its own. */
export function warningText({ message, problem }: Warning, commands: Commands): string {
  const { hint } = problem ? wordsOf(problem, commands) : {};
  if (hint === undefined) return message;
  return hint.includes('\n') ? `${message}\n${hint}` : `${message}; ${hint}`;
}
