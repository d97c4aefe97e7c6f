/** The result of one check of `doctor`, and the exit code of all of them. Pure. */
import { Exit, type ExitCode, InterruptedError, ProfilesError } from '../../../engine/errors.js';
import type { Commands } from '../../advice/commands.js';
import { errorWords } from '../../advice/words.js';

export interface Finding {
  /** The name of the check. */
  check: string;
  status: 'ok' | 'warn' | 'fail';
  message: string;
  /** What to run or change. */
  hint: string | null;
  /** For a failure: the exit code that other commands would have. */
  exit: ExitCode;
}

export const ok = (check: string, message: string): Finding => ({
  check,
  status: 'ok',
  message,
  hint: null,
  exit: Exit.done,
});

export const warn = (check: string, message: string, hint: string): Finding => ({
  check,
  status: 'warn',
  message,
  hint,
  exit: Exit.done,
});

/**
 * Turns an error into a failed check.
 * @throws the error itself if it is not a `ProfilesError`, or a signal ended the check
 */
export function fail(check: string, error: unknown, commands?: Commands): Finding {
  if (!(error instanceof ProfilesError) || error instanceof InterruptedError) throw error;
  // A state that cannot be opened is a setting to fix, not an unexpected failure.
  const exit = error.exit === Exit.unexpected ? Exit.usage : error.exit;
  const { message, hint = null } = errorWords(error, commands);
  return { check, status: 'fail', message, hint, exit };
}

/**
 * The exit code for all checks. Settings come first, because they cause other failures; the rest is as in
 * contract §7.
 */
export function worst(findings: readonly Finding[]): ExitCode {
  const codes = new Set(findings.map((finding) => finding.exit));
  return [Exit.usage, Exit.unauthorised, Exit.service].find((code) => codes.has(code)) ?? Exit.done;
}
