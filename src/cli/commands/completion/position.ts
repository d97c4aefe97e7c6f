/**
 * Finds where in the command tree a typed line is. Pure, except that it loads the command that the line
 * names.
 */
import type { Command, Option } from 'commander';

export interface Position {
  command: Command;
  /** `config set`; empty at the root. */
  path: string;
  /** Arguments of the command so far. */
  operands: string[];
  /** Values of earlier flags by long name, in the order in which they were typed. */
  flags: Map<string, string[]>;
  /** The flag that takes the word being typed as its value. */
  awaiting: Option | null;
  /** Whether `--` was typed: no later word is a flag. */
  ended: boolean;
  /** The word being typed; for `--flag=val` only the value. */
  current: string;
}

/**
 * Follows the words of a line through the command tree. The last word is the one being typed.
 * @param load declares a command's flags and subcommands: the root knows only the names of its commands
 */
export async function locate(
  root: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<Position> {
  const typed = words.at(-1) ?? '';
  const at: Position = {
    command: root,
    path: '',
    operands: [],
    flags: new Map(),
    awaiting: null,
    ended: false,
    current: typed,
  };
  for (const word of words.slice(0, -1)) await step(at, word, load);
  const joined = /^(--[^=]+)=(.*)$/s.exec(typed);
  const option = joined && !at.ended ? optionOf(at.command, joined[1]!) : undefined;
  if (joined && option && takesValue(option)) {
    at.awaiting = option;
    at.current = joined[2]!;
  }
  return at;
}

async function step(at: Position, word: string, load: (command: Command) => Promise<void>): Promise<void> {
  if (at.awaiting) {
    note(at, at.awaiting, word);
    at.awaiting = null;
    return;
  }
  if (!at.ended && word === '--') {
    at.ended = true;
    return;
  }
  if (!at.ended && word.length > 1 && word.startsWith('-')) {
    const [name = '', ...value] = word.split('=');
    const option = optionOf(at.command, name);
    if (!option || !takesValue(option)) return;
    if (value.length > 0) note(at, option, value.join('='));
    else at.awaiting = option;
    return;
  }
  const child = at.operands.length === 0 && at.command.commands.find((command) => command.name() === word);
  if (!child) {
    at.operands.push(word);
    return;
  }
  at.command = child;
  at.path = at.path === '' ? word : `${at.path} ${word}`;
  if (at.path === word) await load(child);
}

function note(at: Position, option: Option, value: string): void {
  const name = option.long ?? option.flags;
  at.flags.set(name, [...(at.flags.get(name) ?? []), value]);
}

const takesValue = (option: Option): boolean => option.required || option.optional;

/** The flags of a command, and those of every command. */
export function optionsOf(command: Command): Option[] {
  let root = command;
  while (root.parent) root = root.parent;
  const global = root === command ? [] : root.options;
  return [...command.options, ...global].filter((option) => !option.hidden && option.long !== '--version');
}

const optionOf = (command: Command, name: string): Option | undefined =>
  optionsOf(command).find((option) => option.long === name || option.short === name);
