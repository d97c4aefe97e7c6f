/**
 * Hints that name commands. Which flags a command needs is known where an error is printed, not where it is thrown, so
 * such a hint is a function that is stored with the error.
 */
import type { ProfilesError } from '../engine/errors.js';
import type { Commands } from './again.js';

export type Hint = (commands: Commands) => string;

const hints = new WeakMap<ProfilesError, Hint>();

/** `throw hinted(new UsageError('…'), ({ command }) => `${command('runs')} lists all imports`)` */
export function hinted<E extends ProfilesError>(error: E, hint: Hint): E {
  hints.set(error, hint);
  return error;
}

export const hintOf = (error: ProfilesError): Hint | undefined => hints.get(error);
