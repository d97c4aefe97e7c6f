/** Help for those who typed something else: first steps, words and flags of other programs, and commander's errors. */
import { existsSync } from 'node:fs';
import type { Command, CommanderError } from 'commander';
import type { UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/util/nearest.js';
import type { World } from '../context.js';
import { OPTIONS, pathOf, usage } from '../options/index.js';

const STEPS = `Nothing is set up yet. Try it without an account, then connect yours:
  profiles import companies.csv --dry-run         what an import of your file would send
  profiles import companies.csv --region sandbox  rehearse it against the embedded service
  profiles config init                            set the hosts and the API key of your account
profiles --help lists all commands.
`;

/** What to run first, if stdout is a terminal and nothing is configured yet; otherwise null. */
export async function firstSteps({ stdout, env, platform, cwd }: World): Promise<string | null> {
  const set = ['PROFILES_CONFIG', 'PROFILES_ACCOUNT', 'PROFILES_REGION', 'PROFILES_BASE_URL'];
  if (!stdout.isTTY || set.some((name) => env[name])) return null;
  const { configLocation } = await import('../settings/index.js');
  try {
    return existsSync(configLocation({ env, platform, cwd }, {}).value) ? null : STEPS;
  } catch {
    return null; // no home folder
  }
}

const KEY = 'to set your API key: profiles config set token; for hosts and key: profiles config init';
const SETUP = 'to write the config file: profiles config init';
const IMPORT = 'to send a file: profiles import companies.csv';
const RUNS = 'for imports and how they ended: profiles runs; for jobs: profiles jobs';
const CONTINUE = 'to continue an import: profiles resume';

/** Commands of other programs, and what to use here. */
export const WORDS: Readonly<Record<string, string>> = {
  login: KEY,
  auth: KEY,
  init: SETUP,
  setup: SETUP,
  configure: SETUP,
  whoami: 'for the account and whether it works: profiles doctor',
  check: 'for settings and connection: profiles doctor; for a file: profiles inspect companies.csv',
  upload: IMPORT,
  push: IMPORT,
  send: IMPORT,
  sync: 'to send what changed: profiles import companies.csv --changed-only',
  retry: CONTINUE,
  continue: CONTINUE,
  list: RUNS,
  ls: RUNS,
  status: RUNS,
};

export function unknownCommand(word: string, names: readonly string[]): UsageError {
  const like = nearest(word, names);
  const meant = like ? `did you mean "profiles ${like}"?` : 'see profiles --help';
  return usage(`unknown command "${word}"`, Object.hasOwn(WORDS, word) ? WORDS[word] : meant);
}

/** Flags of other programs and earlier names, and what to use here. */
const FLAGS: Readonly<Record<string, string>> = {
  '-v': 'for the version: profiles --version; to log each request: --debug',
  '--verbose': 'to log each request: --debug',
  '-q': 'for errors and requested data only: --quiet',
  '--output': 'the result is on stdout: --json > result.json',
  '--file': 'files need no flag: profiles import companies.csv',
  '--wait-timeout': 'did you mean --wait <duration>?',
  '--state-dir': 'did you mean --state <folder>?',
  '--types': "did you mean --type '*=string'?",
  '--continue-on-error': 'did you mean --on-failure continue?',
  '--isolate': 'did you mean --on-failure isolate?',
  '--token-file': 'set PROFILES_TOKEN_FILE, or the key token_file of the config file',
  '--timeout': 'did you mean -o request_timeout=<duration>?',
  '--pk': 'did you mean --id?',
  '--external-id': 'did you mean --id?',
  '--async': 'did you mean --no-wait?',
  '--batch-size': 'did you mean --chunk-size?',
  '--max-errors': 'did you mean --max-invalid?',
  '-L': 'did you mean --limit?',
};

/** What to use instead of a flag that does not exist. */
function insteadOf(flag: string): string | undefined {
  if (Object.hasOwn(FLAGS, flag)) return FLAGS[flag];
  const key = flag.replace(/^--(no-)?/, '').replaceAll('-', '_');
  const option = OPTIONS.find((each) => each.key === key && each.flag === false);
  if (option === undefined) return undefined;
  const value = option.type.kind !== 'flag' ? `<${option.type.placeholder}>` : !flag.startsWith('--no-');
  return `did you mean -o ${key}=${value}?`;
}

/**
 * Rewrites the errors of commander, which are terse and give no advice.
 * @param command the command that commander was parsing; the hint refers to its help
 */
export function usageError(error: CommanderError, command: Command): UsageError {
  const [first = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const [, quoted = ''] = /'(.*)'/.exec(first) ?? [];
  const path = pathOf(command);
  const name = path === '*' ? 'profiles' : `profiles ${path}`;
  const help = `see ${name} --help`;
  const declared = command.registeredArguments;
  const form = [name, ...wordsOf(command)].join(' ');
  switch (error.code) {
    case 'commander.missingArgument': {
      const about = declared.find((argument) => argument.name() === quoted)?.description;
      return usage(`missing required argument "${quoted}"`, about ? `${form}: ${about}` : form);
    }
    case 'commander.optionMissingArgument':
      return usage(`option ${quoted} needs a value`, help);
    case 'commander.unknownOption': {
      const like = /^\(Did you mean (.*)\?\)$/.exec(suggestion ?? '')?.[1];
      const meant = insteadOf(quoted.split('=')[0]!) ?? (like ? `did you mean ${like}?` : help);
      return usage(`unknown option ${quoted}`, meant);
    }
    case 'commander.excessArguments': {
      const { length } = declared;
      const taken = length === 0 ? 'no arguments' : length === 1 ? '1 argument' : `${length} arguments`;
      const { args } = command;
      const given = args.length === 1 ? `"${args[0]}" was given` : `${args.length} were given`;
      return usage(`${path} takes ${taken}, but ${given}`, length === 0 ? help : form);
    }
  }
  return usage(first, help);
}

/** The arguments of a command, as its usage shows them: `<kind> <id>`. */
export const wordsOf = ({ registeredArguments }: Command): string[] =>
  registeredArguments.map((argument) => {
    const word = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${word}>` : `[${word}]`;
  });
