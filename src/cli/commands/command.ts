/** A command is data: its words, examples, and what it runs. Its flags are in the table (`src/cli/options`). */

import type { Command } from 'commander';
import type { ExitCode } from '../../engine/errors.js';
import { didYouMean } from '../../engine/util/nearest.js';
import { type Advice, hintText } from '../advice/hint.js';
import type { Context } from '../context.js';
import type { Instead } from '../guide/again.js';
import { declareOptions, type Flags, pathOf, type Report, usage } from '../options/index.js';
import { safeHint, writeJson, writeOut } from '../output/terminal.js';
import TEXTS from './commands.json' with { type: 'json' };

export type { Flags, Instead };

/** An exit code with several meanings, and the meaning that applies. */
export type Ending = { exit: ExitCode; message: string };
/** How a command ended; nothing if all is done. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing
export type Ended = ExitCode | Ending | void;

/** The command that runs, in the tree of all commands. */
export interface Tree {
  command: Command;
  /** Declares a command, if the tree knows only its name. */
  load(command: Command): Promise<void>;
}

/** The words and flags of a command line, before the command has read them. */
export interface Line {
  words: readonly string[];
  flags: Flags;
}

export interface Spec {
  /** For words that help does not list: the command itself says which one is wrong. */
  anyWords?: true;
  /** Another section of its help. */
  more?(): readonly string[];
  hidden?: true;
  /** Checks the words and flags, does the work, and prints. Without it, the command only groups others. @throws UsageError */
  run?(line: Line, context: Context, tree: Tree): Promise<Ended | Instead>;
  commands?: Readonly<Record<string, Spec>>;
}

type Texts = readonly string[];
/** What help says of a command: its words (`<id>`, `[run]`) and what each is, examples that a test runs, and another section. */
type About = { summary: string; words?: Readonly<Record<string, string>>; examples?: Texts; more?: Texts };
const aboutOf = (path: string): About => TEXTS[path as keyof typeof TEXTS];

/** Makes the action of a command; `main` handles its errors. */
export type Wire = (of: Spec) => (...commanderArguments: unknown[]) => Promise<void>;

/** Declares a command: its words, examples, and subcommands, with their options from the table. */
export function declare(of: Spec, command: Command, wire: Wire): void {
  add(of, command, wire);
  declareOptions(command);
}

function add(of: Spec, command: Command, wire: Wire): void {
  const { summary, words = {}, examples = [], more = [] } = aboutOf(pathOf(command));
  command.description(summary);
  for (const [word, what] of Object.entries(words)) command.argument(word, what);
  const rest = [...more, ...(of.more?.() ?? [])];
  if (rest.length > 0) command.addHelpText('after', `\n${rest.join('\n')}`);
  addExamples(command, examples);
  for (const [name, child] of Object.entries(of.commands ?? {}))
    add(child, command.command(name, { hidden: child.hidden === true }), wire);
  const group: Spec = { run: async ({ words: [word] }) => refuse(word, command) };
  command.allowExcessArguments(of.anyWords === true || of.run === undefined);
  command.action(wire(of.run ? of : group));
}

/** @throws UsageError that names the nearest subcommand, or all */
export function refuse(word: string | undefined, command: Command): never {
  const name = command.name();
  const names = command.commands.map((child) => child.name());
  const all = `available subcommands: ${names.join(', ')}`;
  if (word === undefined) throw usage(`${name} needs a subcommand`, all);
  throw usage(`unknown command "${name} ${word}"`, didYouMean(word, names, all, `profiles ${name} `));
}

export function addExamples(command: Command, lines: readonly string[]): void {
  if (lines.length === 0) return;
  command.addHelpText('after', `\nExamples\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
}

/** The word that names one of several. @throws UsageError that names the nearest, or all */
export function oneOf<T extends string>(
  what: string,
  word: string,
  names: readonly T[],
  { all, before = '' }: { all: string; before?: string },
): T {
  const found = names.find((name) => name === word);
  if (found !== undefined) return found;
  throw usage(`unknown ${what} "${word}"`, didYouMean(word, names, all, before));
}

/** Prints a result: a document for programs, otherwise text. @param indent 0 for a document on one line */
export const print = (
  { stdout, flags }: Pick<Context, 'stdout' | 'flags'>,
  document: unknown,
  text: string,
  indent = 2,
): Promise<void> =>
  flags.json ? writeJson(stdout, JSON.stringify(document, null, indent)) : writeOut(stdout, text);

/** Checks the file of `--report`. Returns what writes the page to it; null without the flag. @throws UsageError */
export const pageWriter = async ({ page, form }: Report, context: Context) =>
  page === null ? null : (await import('../output/html/page.js')).reportFile(page, form, context);

/** Prints a line, or a hint, on stderr, unless `--quiet` was given. */
export async function say({ flags, stderr, platform, commands }: Context, advice: Advice): Promise<void> {
  if (!flags.quiet) await writeOut(stderr, `${safeHint(hintText(advice, commands) ?? '', platform)}\n`);
}
