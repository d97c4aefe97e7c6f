/** Errors as text and as JSON (contract §6 "Errors"). */
import { type ErrorDetails, Exit, type ExitCode, ProfilesError } from '../../engine/errors.js';
import type { Commands } from '../advice/commands.js';
import { hintLines } from '../advice/hint.js';
import { errorWords } from '../advice/words.js';
import { safeJson, safeLine, safeMessage } from './safe.js';

/**
 * The text for stderr: `profiles: <what, where>`, then the hint on lines of its own; with `--debug` the
 * stack; with `--json` a last line `{"error":{…}}`. An error that is not a `ProfilesError` is unexpected:
 * exit 1.
 */
export function errorLines(
  error: unknown,
  flags: { json?: boolean; debug?: boolean },
  commands?: Commands,
  platform: NodeJS.Platform = 'linux',
): { text: string; exit: ExitCode } {
  const known = error instanceof ProfilesError ? error : undefined;
  const said = known
    ? errorWords(known, commands)
    : { message: plainMessage(error), hint: unexpectedHint(error) };
  const message = safeMessage(said.message);
  const { hint } = said;
  const lines = [`profiles: ${message}`];
  if (hint) lines.push(...hintLines(hint, platform).map((line) => `  ${safeLine(line)}`));
  if (flags.debug && error instanceof Error && error.stack) {
    lines.push(...error.stack.split('\n').map(safeLine));
  }
  if (flags.json) {
    const { status, requestId, code = 'unexpected' } = known ?? {};
    lines.push(jsonError(code, message, hint, { status, requestId }));
  }
  return { text: `${lines.join('\n')}\n`, exit: known?.exit ?? Exit.unexpected };
}

const isOutOfFiles = (error: unknown): error is Error & { code: string } =>
  error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');

function plainMessage(error: unknown): string {
  if (isOutOfFiles(error)) return `too many open files (${error.code})`;
  return error instanceof Error ? error.message : String(error);
}

function unexpectedHint(error: unknown): string {
  if (isOutOfFiles(error)) return 'allow more of them: ulimit -n 1024';
  return 'this is a bug in profiles; run the command again with --debug to see where';
}

function jsonError(code: string, message: string, hint?: string, reply: ErrorDetails = {}): string {
  const { status = null, requestId: request_id = null } = reply;
  return safeJson(JSON.stringify({ error: { code, message, hint: hint ?? null, status, request_id } }));
}

/** For commands that end without an error, but with a result that is a failure. */
const ENDINGS: Partial<Record<ExitCode, readonly [code: string, message: string]>> = {
  [Exit.usage]: ['config', 'a setting is wrong or missing'],
  [Exit.unauthorised]: ['unauthorised', 'no token, or the service refused it'],
  [Exit.rejected]: ['rejected', 'some rows were rejected, or a job completed fewer rows than it was sent'],
  [Exit.service]: ['service', 'the service or the network failed'],
  [Exit.held]: ['held', 'more rows are new or changed than allowed; nothing was sent'],
  [Exit.jobFailed]: ['job_failed', 'a job failed'],
};

/**
 * The last line of stderr with `--json` for a failure exit code without a thrown error.
 * @param says the meaning that applies, if the exit code has several
 */
export function endingLine(exit: ExitCode, says?: string): string {
  const [code, message] = ENDINGS[exit] ?? ['unexpected', `exit code ${exit}`];
  return `${jsonError(code, says ?? message, 'see the result on stdout')}\n`;
}
