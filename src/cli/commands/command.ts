/** A command is data: its words, examples, options, and what it runs. Its flags are in the table (`src/cli/options`). */
import type { Command } from 'commander';
import type { ExitCode } from '../../engine/errors.js';
import { nearest } from '../../engine/util/nearest.js';
import type { Context } from '../context.js';
import { declareOptions, type Flags, usage } from '../options/index.js';
import { writeJson, writeOut } from '../output/write.js';

export type { Flags };

/** An exit code with several meanings, and the meaning that applies. */
export interface Ending {
  exit: ExitCode;
  message: string;
}
/** How a command ended; nothing if all is done. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing
export type Ended = ExitCode | Ending | void;

/** The command that runs, in the tree of all commands. */
export interface Tree {
  command: Command;
  /** Declares a command, if the tree knows only its name. */
  load(command: Command): Promise<void>;
}

/** `O`: what `options` makes of the words and flags; without it, the words. */
export interface Spec<O = readonly string[]> {
  /** For a subcommand: what it does. */
  summary?: string;
  /** Its words: `<id>`, `[run]`, `<input...>`, and what each is. */
  words?: Readonly<Record<string, string>>;
  /** For words that help does not list: the command itself says which one is wrong. */
  anyWords?: true;
  /** The `Examples` section of its help. A test runs each line. */
  examples?: readonly string[];
  /** Another section of its help. */
  more?: string;
  hidden?: true;
  /** Turns words and flags into a checked object. @throws UsageError */
  options?(words: readonly string[], flags: Flags, context: Context): O | Promise<O>;
  /** Does the work and prints. Without it, the command only groups others. */
  run?(options: O, context: Context, tree: Tree): Promise<Ended>;
  commands?: Readonly<Record<string, AnySpec>>;
}
// biome-ignore lint/suspicious/noExplicitAny: each command has options of its own
export type AnySpec = Spec<any>;

/** Infers the type of the options. */
export const spec = <O = readonly string[]>(of: Spec<O>): Spec<O> => of;

export interface CommandEntry {
  /** Where help lists it. */
  heading: string;
  name: string;
  summary: string;
  /** Loads the command's file. */
  load(): Promise<{ command: AnySpec }>;
}

/** Makes the action of a command; `main` handles its errors. */
export type Wire = (of: AnySpec) => (...commanderArguments: unknown[]) => Promise<void>;

/** Declares a command: its words, examples, and subcommands, with their options from the table. */
export async function declare({ load }: CommandEntry, command: Command, wire: Wire): Promise<void> {
  add((await load()).command, command, wire);
  declareOptions(command);
}

function add(of: AnySpec, command: Command, wire: Wire): void {
  for (const [word, what] of Object.entries(of.words ?? {})) command.argument(word, what);
  if (of.more !== undefined) command.addHelpText('after', `\n${of.more}`);
  addExamples(command, of.examples ?? []);
  for (const [name, child] of Object.entries(of.commands ?? {})) {
    add(child, command.command(name, { hidden: child.hidden === true }).description(child.summary!), wire);
  }
  const group = spec({ run: async ([word]) => refuse(word, command) });
  command.allowExcessArguments(of.anyWords === true || of.run === undefined);
  command.action(wire(of.run ? of : group));
}

/** @throws UsageError that names the nearest subcommand, or all */
export function refuse(word: string | undefined, command: Command): never {
  const name = command.name();
  const names = command.commands.map((child) => child.name());
  const all = `available subcommands: ${names.join(', ')}`;
  if (word === undefined) throw usage(`${name} needs a subcommand`, all);
  const like = nearest(word, names);
  throw usage(`unknown command "${name} ${word}"`, like ? `did you mean "profiles ${name} ${like}"?` : all);
}

export function addExamples(command: Command, lines: readonly string[]): void {
  if (lines.length === 0) return;
  command.addHelpText('after', `\nExamples\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
}

/** Prints a result: a document for programs, otherwise text. @param indent 0 for a document on one line */
export const print = (
  { stdout, flags }: Pick<Context, 'stdout' | 'flags'>,
  document: unknown,
  text: string,
  indent = 2,
): Promise<void> =>
  flags.json ? writeJson(stdout, JSON.stringify(document, null, indent)) : writeOut(stdout, text);
