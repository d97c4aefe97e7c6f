/**
 * Hints as data. Which flags a command needs is known where a hint is printed, not where it is thrown: so a hint names the
 * command, and `hintText` writes it for this command line.
 */
import type { ProfilesError } from '../../engine/errors.js';
import type { Problem, ProblemOf } from '../../engine/problems.js';
import type { SettingsFlags } from '../settings/sources.js';
import type { Changes, Commands } from './commands.js';
import { commandLines, shellWord } from './shell.js';

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

const hints = new WeakMap<ProfilesError, Advice>();

/** `throw hinted(new UsageError('…'), { do: 'to list all imports', run: ['runs'] })` */
export function hinted<E extends ProfilesError>(error: E, hint: Advice): E {
  hints.set(error, hint);
  return error;
}

export function hintOf(error: ProfilesError, commands: Commands): string | undefined {
  const hint = hints.get(error);
  return hint && hintText(hint, commands);
}

/** Flags that are for all files together: for one of them, they may fail, or say something else. */
const TOGETHER = '--map --include --exclude --type --where --mapping --limit --sheet --json-path'.split(' ');
/** What each command would write, and the next one replace. */
const WRITTEN = ['--outcomes', '--report', '--save-plan', '--write-mapping', '--force'];

/** Whether no command for some of the files can be composed from the one for all. */
export const isTogether = ({ wasTyped }: Commands): boolean => TOGETHER.some((flag) => wasTyped(flag));

/** Changes for some of the files. */
export function apart({ plus = [], without = [], ...changes }: Changes, { wasTyped }: Commands): Changes {
  // Without its plan, the command would send.
  const dry = wasTyped('--save-plan') ? ['--dry-run'] : [];
  return { ...changes, without: [...WRITTEN, ...without], plus: [...dry, ...plus] };
}

/** What helps with one file: with several, it is read by itself, because the others may not be read like this. */
export function forOne(
  path: string,
  lines: readonly { do: string; again: Changes }[],
  commands: Commands,
): Line[] {
  // An archive with one file may be named without it, and an address is shown without its query.
  const isOwn = (typed: string): boolean =>
    typed === path || typed === `${path}?…` || path.startsWith(`${typed}:`);
  const own = commands.paths.find(isOwn) ?? path;
  const others = commands.paths.filter((typed) => typed !== own);
  const only = (changes: Changes): Changes => ({ ...changes, paths: [own] });
  if (others.length === 0) return lines.map(({ do: what, again }) => ({ do: what, again: only(again) }));
  if (isTogether(commands))
    return [
      ...lines.map(({ do: what, again }) => `${what}: ${(again.plus ?? []).map(shellWord).join(' ')}`),
      `read ${shellWord(own)} by itself with that and the rules for its columns, then the other files without it`,
    ];
  const isNamed = commands.paths.includes(own);
  return [
    ...lines.map(({ do: what, again }) => ({ do: what, again: apart(only(again), commands) })),
    isNamed
      ? { do: 'then read the other files without that', again: apart({ paths: others }, commands) }
      : `this reads only ${shellWord(own)}: other files need a command of their own`,
  ];
}
