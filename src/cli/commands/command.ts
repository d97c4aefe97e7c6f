/** The parts of a command file: options, run, print. Its flags are in the table (`src/cli/options`). */
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import type { Context } from '../context.js';
import type { Flags } from '../options/index.js';

export type { Flags };

/** An exit code with several meanings, and the meaning that applies. */
export interface Ending {
  exit: ExitCode;
  message: string;
}

/**
 * Makes a commander action from two functions: `options` turns words and flags into a validated object (it
 * throws `UsageError`); `run` does the work, prints, and returns the exit code. `main` handles their errors.
 */
export type Wire = <O>(
  options: (args: readonly string[], flags: Flags, context: Context) => O | Promise<O>,
  run: (options: O, context: Context) => Promise<ExitCode | Ending>,
) => (...commanderArguments: unknown[]) => Promise<void>;

/**
 * A command file exports `define`, which declares arguments, examples, and subcommands, and wires the
 * actions. `commands` has all commands, for a command that lists the others.
 */
export interface CommandModule {
  define(command: Command, wire: Wire, commands: readonly CommandEntry[]): void;
}

export interface CommandEntry {
  name: string;
  summary: string;
  /** Loads the command's file. */
  load(): Promise<CommandModule>;
}

/**
 * Declares a command: its arguments, examples, and subcommands, and the options from the table for each of
 * them.
 */
export async function declare(
  entry: CommandEntry,
  command: Command,
  wire: Wire,
  commands: readonly CommandEntry[],
): Promise<void> {
  const [{ define }, { declareOptions }] = await Promise.all([entry.load(), import('../options/index.js')]);
  define(command, wire, commands);
  // A command with subcommands accepts excess arguments, to report a mistyped one. commander passes that on
  // to them.
  for (const child of command.commands) child.allowExcessArguments(false);
  declareOptions(command);
}

/** Adds the `Examples` section to the help of a command. A test runs each line. */
export function examples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
}

/** For a command that only groups subcommands: without a valid one, the error lists them. */
export function requireSubcommand(command: Command, wire: Wire): Command {
  const reject = ([word]: readonly string[]): never => {
    const names = command.commands.map((child) => child.name());
    const all = `available subcommands: ${names.join(', ')}`;
    if (word === undefined) throw new UsageError(`${command.name()} needs a subcommand`, { hint: all });
    const like = nearest(word, names);
    throw new UsageError(`unknown command "${command.name()} ${word}"`, {
      hint: like ? `did you mean "profiles ${command.name()} ${like}"?` : all,
    });
  };
  return command
    .helpCommand(false)
    .allowExcessArguments()
    .action(wire(reject, async () => Exit.usage));
}
