/** Rewrites the errors of commander, which are terse and give no advice. */
import type { Command, CommanderError } from 'commander';
import { UsageError } from '../../engine/errors.js';

/** Flags of other programs, and what to use here. */
const HABITS: ReadonlyMap<string, string> = new Map([
  ['-v', 'for the version: profiles --version; to log each request: --debug'],
  ['--verbose', 'to log each request: --debug'],
  ['-n', 'to send nothing: --dry-run'],
  ['-q', 'for errors and requested data only: --quiet'],
  ['-o', 'the result is on stdout: --json > result.json'],
  ['--output', 'the result is on stdout: --json > result.json'],
  ['-f', 'files need no flag: profiles import companies.csv'],
  ['--file', 'files need no flag: profiles import companies.csv'],
]);

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
      const habit = HABITS.get(quoted(/'(.*)'/));
      if (habit !== undefined) return new UsageError(`unknown option ${quoted(/'(.*)'/)}`, { hint: habit });
      const like = /^\(Did you mean (.*)\?\)$/.exec(suggestion ?? '')?.[1];
      return new UsageError(`unknown option ${quoted(/'(.*)'/)}`, {
        hint: like ? `did you mean ${like}?` : help,
      });
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
