/**
 * Hints as data. Which flags a command needs is known where a hint is printed, not where it is thrown: so a hint names the
 * command, and `hintText` writes it for this command line.
 */
import type { ProfilesError } from '../../engine/errors.js';
import type { Problem, ProblemOf } from '../../engine/problems.js';
import type { SettingsFlags } from '../settings/sources.js';
import type { Changes, Commands } from './commands.js';
import { commandLines } from './shell.js';

/** A command of this program (`run`), or the one that was typed with changes (`again`). */
export type Call = { run: readonly string[]; below?: string } | { again: Changes };
/** What commands are for. @property at settings that they need besides those of this command */
export type Command = Call & { do: string; or?: readonly Call[]; at?: SettingsFlags };
/** A sentence, or a command. */
export type Line = string | Command;
/** The lines of a hint. Without any, there is none. */
export type Advice = Line | readonly Line[];

export interface Words {
  /** Replaces the engine's sentence, if the problem is with a flag that was given. */
  message?: string;
  /** Absent if the engine's own hint is enough. */
  hint?: Advice;
}

/** What is said about a problem. */
export type Said = Advice | Words;
/** What is said about each problem. A code that is not there does not compile. */
export type Dictionary = {
  [C in Problem['code']]: Said | ((problem: ProblemOf<C>, commands: Commands) => Said);
};

/** Lines of a hint: commands to paste, each of which stands alone below its purpose. */
export const toRun = (purpose: string, ...commands: readonly string[]): string =>
  [`${purpose}:`, ...commands.map((command) => COMMAND + command)].join('\n');

/** How the line of a command begins. */
const COMMAND = '  ';

/** A command that works when pasted. */
export const commandText = (call: Call, { command, again }: Commands): string =>
  ('again' in call ? again(call.again) : command(...call.run) + (call.below ?? '')).replace(
    // The reader fills it in.
    "'https://…'",
    'https://…',
  );

/** A purpose, and its commands below it. */
function commandLine({ do: purpose, or = [], at, ...call }: Command, commands: Commands): string {
  const there = at ? commands.at(at, null) : commands;
  return toRun(purpose, ...[call, ...or].map((each) => commandText(each, there)));
}

/** A hint as text; undefined without lines. */
export function hintText(advice: Advice, commands: Commands): string | undefined {
  const lines = typeof advice === 'object' && 'length' in advice ? advice : [advice];
  const texts = lines.map((line) => (typeof line === 'string' ? line : commandLine(line, commands)));
  return texts.length === 0 ? undefined : texts.join('\n');
}

/** A hint where it has only one line, such as in a warning of a JSON document. */
export const inOneLine = (hint: string): string =>
  hint.replaceAll(`:\n${COMMAND}`, ': ').replaceAll('\n', '; ');

/** A hint as lines for a terminal. */
export const hintLines = (hint: string, platform: NodeJS.Platform): string[] =>
  hint.split('\n').flatMap((line) => {
    if (!line.startsWith(COMMAND)) return [line];
    return commandLines(line.slice(COMMAND.length), platform).map((each) => COMMAND + each);
  });

/** A hint that depends on the command line. */
type Late = (commands: Commands) => Advice;
const hints = new WeakMap<ProfilesError, Advice | Late>();

/** `throw hinted(new UsageError('…'), { do: 'to list all imports', run: ['runs'] })` */
export function hinted<E extends ProfilesError>(error: E, hint: Advice | Late): E {
  hints.set(error, hint);
  return error;
}

export function hintOf(error: ProfilesError, commands: Commands): string | undefined {
  const hint = hints.get(error);
  return hint && hintText(typeof hint === 'function' ? hint(commands) : hint, commands);
}
