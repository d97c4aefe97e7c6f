/** What `doctor` says about one thing, and what all of it amounts to. Pure. */
import { Exit, type ExitCode, ProfilesError } from '../../../engine/errors.js';
import type { Commands } from '../../again.js';
import { errorWords } from '../../messages.js';

export interface Finding {
  /** What was looked at: one word. */
  check: string;
  status: 'ok' | 'warn' | 'fail';
  message: string;
  /** What to type or change. */
  hint: string | null;
  /** Of a failure: the exit code that a command would end with for it. */
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

/** A failure, from the error that any other command would end with. Anything but ours is thrown on. */
export function fail(check: string, error: unknown, commands?: Commands): Finding {
  if (!(error instanceof ProfilesError)) throw error;
  // A state that cannot be used is a setting to fix, not a bug.
  const exit = error.exit === Exit.unexpected ? Exit.usage : error.exit;
  const { message, hint = null } = errorWords(error, commands);
  return { check, status: 'fail', message, hint, exit };
}

/** The exit code of it all. A setting comes first, since it hides the others; then as contract §7 has it. */
export function worst(findings: readonly Finding[]): ExitCode {
  const codes = new Set(findings.map((finding) => finding.exit));
  return [Exit.usage, Exit.unauthorised, Exit.service].find((code) => codes.has(code)) ?? Exit.done;
}
