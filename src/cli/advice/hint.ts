/**
 * Hints that name commands. Which flags a command needs is known where an error is printed, not where it is thrown, so
 * such a hint is a function that is stored with the error.
 */
import type { ProfilesError } from '../../engine/errors.js';
import type { ProblemOf } from '../../engine/problems.js';
import type { Commands } from './commands.js';
import { commandLines } from './shell.js';

export type Hint = (commands: Commands) => string;

const hints = new WeakMap<ProfilesError, Hint>();

/** Lines of a hint: commands to paste, each of which stands alone below their purpose. */
export const toRun = (purpose: string, ...commands: readonly string[]): string =>
  [`${purpose}:`, ...commands.map((command) => COMMAND + command)].join('\n');

/** How the line of a command begins. */
const COMMAND = '  ';

/** A hint where it has only one line, such as in a warning of a JSON document. */
export const inOneLine = (hint: string): string =>
  hint.replaceAll(`:\n${COMMAND}`, ': ').replaceAll('\n', '; ');

/** A hint as lines for a terminal. */
export const hintLines = (hint: string, platform: NodeJS.Platform): string[] =>
  hint
    .split('\n')
    .flatMap((line) =>
      line.startsWith(COMMAND)
        ? commandLines(line.slice(COMMAND.length), platform).map((each) => COMMAND + each)
        : [line],
    );

/** `throw hinted(new UsageError('…'), ({ command }) => toRun('to list all imports', command('runs')))` */
export function hinted<E extends ProfilesError>(error: E, hint: Hint): E {
  hints.set(error, hint);
  return error;
}

export const hintOf = (error: ProfilesError): Hint | undefined => hints.get(error);

/** The setting with which the rows beyond a limit are read. */
export const limitFlags = ({ option, needed }: ProblemOf<'over_limit'>): string[] => [
  '-o',
  `${option === 'maxColumns' ? 'max_columns' : 'max_depth'}=${needed}`,
];
