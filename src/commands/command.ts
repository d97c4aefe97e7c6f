/** What a command file is made of: flags, options, run, print (house rule 1). */
import type { Command } from 'commander';
import type { Context } from '../context.js';
import type { ExitCode } from '../errors.js';

export type Flags = Record<string, unknown>;

/**
 * Makes a commander action of two parts: `options` turns words and flags into a validated object (throws
 * `UsageError`), `run` does the work, prints, and gives the exit code. Errors travel up to `main`.
 */
export type Wire = <O>(
  options: (args: readonly string[], flags: Flags, context: Context) => O | Promise<O>,
  run: (options: O, context: Context) => Promise<ExitCode>,
) => (...commanderArguments: unknown[]) => Promise<void>;

/** A command's file exports `define`: it declares arguments, flags, examples and subcommands, and wires its actions. */
export interface CommandModule {
  define(command: Command, wire: Wire): void;
}

/** Adds the `Examples:` section that every command has. Each line is run by a test. */
export function examples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
}
