/** Help for those who typed something else: words and flags of other programs, and commander's errors. */

import type { Command, CommanderError } from 'commander';
import type { UsageError } from '../../engine/errors.js';
import { didYouMean } from '../../engine/util/nearest.js';
import { OPTIONS, pathOf, usage } from '../options/index.js';
import { wordsOf } from './help-page.js';
import TEXTS from './topics.json' with { type: 'json' };

const said = (texts: Readonly<Record<string, string>>, word: string): string | undefined =>
  Object.hasOwn(texts, word) ? texts[word] : undefined;

export function unknownCommand(word: string, names: readonly string[]): UsageError {
  const meant = didYouMean(word, names, 'see profiles --help', 'profiles ');
  return usage(`unknown command "${word}"`, said(TEXTS.commands, word) ?? meant);
}

/** What to use instead of a flag that does not exist. */
function insteadOf(flag: string): string | undefined {
  const key = flag.replace(/^--(no-)?/, '').replaceAll('-', '_');
  const option = OPTIONS.find((each) => each.key === key && each.flag === false);
  const known = said(TEXTS.flags, flag);
  if (known !== undefined || option === undefined) return known;
  const value = option.type.kind !== 'flag' ? `<${option.type.placeholder}>` : !flag.startsWith('--no-');
  return `did you mean -o ${key}=${value}?`;
}

/**
 * Rewrites the errors of commander, which are terse and give no advice.
 * @param command the command that commander was parsing; the hint refers to its help
 */
export function usageError({ code, message }: CommanderError, command: Command): UsageError {
  const [first = '', suggestion = ''] = message.replace(/^error: /, '').split('\n');
  const [, quoted = ''] = /'(.*)'/.exec(first) ?? [];
  const path = pathOf(command);
  const name = path === '*' ? 'profiles' : `profiles ${path}`;
  const help = `see ${name} --help`;
  const { args, registeredArguments: declared } = command;
  const form = [name, ...wordsOf(command)].join(' ');
  if (code === 'commander.missingArgument') {
    const about = declared.find((argument) => argument.name() === quoted)?.description;
    return usage(`missing required argument "${quoted}"`, about ? `${form}: ${about}` : form);
  }
  if (code === 'commander.optionMissingArgument') return usage(`option ${quoted} needs a value`, help);
  if (code === 'commander.unknownOption') {
    const like = /^\(Did you mean (.*\?)\)$/.exec(suggestion)?.[1];
    const meant = insteadOf(quoted.split('=')[0]!) ?? (like ? `did you mean ${like}` : help);
    return usage(`unknown option ${quoted}`, meant);
  }
  if (code !== 'commander.excessArguments') return usage(first, help);
  const { length } = declared;
  const taken = length === 0 ? 'no arguments' : length === 1 ? '1 argument' : `${length} arguments`;
  const given = args.length === 1 ? `"${args[0]}" was given` : `${args.length} were given`;
  return usage(`${path} takes ${taken}, but ${given}`, length === 0 ? help : form);
}
