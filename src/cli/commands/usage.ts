/** Rewrites the errors of commander, which are terse and give no advice. */
import type { Command, CommanderError } from 'commander';
import { UsageError } from '../../engine/errors.js';
import { OPTIONS } from '../options/index.js';

/** Flags of other programs and earlier names, and what to use here. */
const HABITS: ReadonlyMap<string, string> = new Map([
  ['-v', 'for the version: profiles --version; to log each request: --debug'],
  ['--verbose', 'to log each request: --debug'],
  ['-q', 'for errors and requested data only: --quiet'],
  ['--output', 'the result is on stdout: --json > result.json'],
  ['--file', 'files need no flag: profiles import companies.csv'],
  ['--wait-timeout', 'did you mean --wait <duration>?'],
  ['--state-dir', 'did you mean --state <folder>?'],
  ['--types', "did you mean --type '*=string'?"],
  ['--continue-on-error', 'did you mean --on-failure continue?'],
  ['--isolate', 'did you mean --on-failure isolate?'],
  ['--token-file', 'set PROFILES_TOKEN_FILE, or the key token_file of the config file'],
  ['--timeout', 'did you mean -o request_timeout=<duration>?'],
  ['--pk', 'did you mean --id?'],
  ['--external-id', 'did you mean --id?'],
  ['--async', 'did you mean --no-wait?'],
  ['--batch-size', 'did you mean --chunk-size?'],
  ['--max-errors', 'did you mean --max-invalid?'],
  ['-L', 'did you mean --limit?'],
]);

/** A setting that has no flag, such as `--retries`. */
function settingLike(flag: string): string | undefined {
  const key = flag.replace(/^--(no-)?/, '').replaceAll('-', '_');
  const option = OPTIONS.find((each) => each.key === key && each.flag === false);
  if (option === undefined) return undefined;
  const value = option.type.kind !== 'flag' ? `<${option.type.placeholder}>` : !flag.startsWith('--no-');
  return `did you mean -o ${key}=${value}?`;
}

/** @param command the command that commander was parsing; the hint refers to its help */
export function usageError(error: CommanderError, command: Command): UsageError {
  const name = nameOf(command);
  const [first = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const quoted = (pattern: RegExp): string => pattern.exec(first)?.[1] ?? '';
  const help = `see ${name} --help`;
  switch (error.code) {
    case 'commander.missingArgument': {
      const missing = quoted(/'(.+)'/);
      const about = command.registeredArguments.find((argument) => argument.name() === missing)?.description;
      return new UsageError(`missing required argument "${missing}"`, {
        hint: about ? `${usageOf(command)}: ${about}` : usageOf(command),
      });
    }
    case 'commander.optionMissingArgument':
      return new UsageError(`option ${quoted(/'(.+)'/)} needs a value`, { hint: help });
    case 'commander.unknownOption': {
      const [flag = ''] = quoted(/'(.*)'/).split('=');
      const like = /^\(Did you mean (.*)\?\)$/.exec(suggestion ?? '')?.[1];
      const hint = HABITS.get(flag) ?? settingLike(flag) ?? (like ? `did you mean ${like}?` : help);
      return new UsageError(`unknown option ${quoted(/'(.*)'/)}`, { hint });
    }
    case 'commander.excessArguments':
      return tooMany(command, help);
  }
  return new UsageError(first, { hint: help });
}

function tooMany(command: Command, help: string): UsageError {
  const allowed = command.registeredArguments.length;
  const { args } = command;
  const [taken, hint] =
    allowed === 0
      ? ['no arguments', help]
      : [allowed === 1 ? '1 argument' : `${allowed} arguments`, usageOf(command)];
  const given = args.length === 1 ? `"${args[0]}" was given` : `${args.length} were given`;
  return new UsageError(`${nameOf(command).replace(/^profiles /, '')} takes ${taken}, but ${given}`, {
    hint,
  });
}

/** `profiles sandbox show`. */
function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

/** The command with its arguments: `profiles sandbox show <kind> <id>`. */
function usageOf(command: Command): string {
  const words = command.registeredArguments.map((argument) => {
    const word = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${word}>` : `[${word}]`;
  });
  return [nameOf(command), ...words].join(' ');
}
