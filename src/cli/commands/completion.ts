/**
 * `profiles completion <shell>`: prints a script for the shell, and has the hidden command that the script
 * calls at each Tab.
 */
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import type { Context } from '../context.js';
import { spelled } from '../options/index.js';
import { safeLine } from '../output/safe.js';
import { writeJson, writeOut } from '../output/write.js';
import { type CommandEntry, declare, examples, type Wire } from './command.js';
import { splitLine } from './completion/line.js';
import { locate } from './completion/position.js';
import { machineSources } from './completion/sources.js';
import { SHELLS, type Shell, type Suggestion, type Suggestions, suggest } from './completion/suggest.js';

export function define(command: Command, wire: Wire, commands: readonly CommandEntry[]): void {
  command.argument('<shell>', SHELLS.join(', '));
  command.helpCommand(false).addHelpText(
    'after',
    `
Load it in your shell's startup file:
  bash        source <(profiles completion bash)    in ~/.bashrc
  zsh         source <(profiles completion zsh)     in ~/.zshrc, after compinit
  fish        profiles completion fish | source     in config.fish
  powershell  profiles completion powershell | Out-String | Invoke-Expression`,
  );
  examples(command, ['profiles completion bash', 'profiles completion fish']);
  command.action(wire(([word]) => shellOf(word!), print));

  const complete = command
    .command('complete', { hidden: true })
    .description('print completions: a value, a tab, its description; then : and a directive')
    .argument('[words...]', 'after --: the words typed so far, the last one unfinished');
  complete.action(
    wire(
      (words, { line }) => (typeof line === 'string' ? splitLine(line).slice(1) : [...words]),
      (words, context) => answer(command.parent ?? command, commands, words, context),
    ),
  );
}

/** @throws UsageError */
function shellOf(word: string): Shell {
  const shell = SHELLS.find((known) => known === word);
  if (shell) return shell;
  const like = nearest(word, SHELLS);
  throw new UsageError(`unknown shell "${word}"`, {
    hint: like ? `did you mean "${like}"?` : `available shells: ${SHELLS.join(', ')}`,
  });
}

async function print(shell: Shell, { stdout, flags }: Context): Promise<ExitCode> {
  const { scriptFor } = await import('./completion/scripts.js');
  const script = scriptFor(shell);
  if (flags.json) await writeJson(stdout, JSON.stringify({ shell, script }));
  else await writeOut(stdout, `${script}\n`);
  return Exit.done;
}

/** Bits of a directive, which the scripts of cobra and `@bomb.sh/tab` read. */
const DIRECTIVE = { noSpace: 2, noFiles: 4, keepOrder: 32 };

/** Prints the suggestions. Never fails, because completion cannot show an error. */
async function answer(
  root: Command,
  commands: readonly CommandEntry[],
  words: readonly string[],
  context: Context,
): Promise<ExitCode> {
  let found: Suggestions = { values: [], files: true, open: false, ordered: false };
  try {
    found = await complete(root, commands, words, context);
  } catch {
    // Suggests nothing; the shell then completes file names.
  }
  const directive =
    (found.open ? DIRECTIVE.noSpace : 0) +
    (found.files ? 0 : DIRECTIVE.noFiles) +
    (found.ordered ? DIRECTIVE.keepOrder : 0);
  const lines = found.values.map(({ value, description }) => `${value}\t${safeLine(description)}`);
  await writeOut(context.stdout, `${[...lines, `:${directive}`].join('\n')}\n`);
  return Exit.done;
}

async function complete(
  root: Command,
  commands: readonly CommandEntry[],
  words: readonly string[],
  context: Context,
): Promise<Suggestions> {
  const unwired: Wire = () => async () => {};
  const at = await locate(root, words, async (command) => {
    const entry = commands.find(({ name }) => name === command.name());
    // `completion` itself is already declared, because it is running.
    if (entry && command.name() !== 'completion') await declare(entry, command, unwired, commands);
  });
  // `--config` and `--state` in the typed line apply to these look-ups, too.
  for (const name of ['config', 'state'] as const) {
    const value = at.flags.get(spelled(name))?.at(-1);
    if (value !== undefined) context.flags[name] = value;
  }
  return suggest(
    at,
    machineSources(context, () => topics(root)),
  );
}

/** The arguments of `profiles help`: commands and topics. */
async function topics(root: Command): Promise<Suggestion[]> {
  const { TOPICS } = await import('./topics.js');
  const commands = root.commands.map((command) => ({
    value: command.name(),
    description: command.description(),
  }));
  return [...commands, ...TOPICS.map(({ name, summary }) => ({ value: name, description: summary }))];
}
