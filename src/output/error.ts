/** An error as a person and as a script read it (contract §6 "Errors"). */
import { Exit, type ExitCode, ProfilesError } from '../errors.js';
import { safeJson, safeLine } from './safe.js';

/**
 * The text for stderr: `profiles: <what, where>` and the mend on a line of its own; with `--json` a last
 * line `{"error":{…}}`; with `--debug` the stack. An error that is not ours is unexpected: exit 1.
 */
export function errorLines(
  error: unknown,
  flags: { json?: boolean; debug?: boolean },
): { text: string; exit: ExitCode } {
  const known = error instanceof ProfilesError ? error : undefined;
  const message = safeLine(error instanceof Error ? error.message : String(error));
  const hint = known ? known.hint : 'this is a defect in profiles; --debug shows where';
  const lines = [`profiles: ${message}`];
  // A hint may be lines to type, each its own.
  if (hint) lines.push(...hint.split('\n').map((line) => `  ${safeLine(line)}`));
  if (flags.debug && error instanceof Error && error.stack) {
    lines.push(...error.stack.split('\n').map(safeLine));
  }
  if (flags.json) {
    lines.push(
      safeJson(
        JSON.stringify({
          error: {
            code: known?.code ?? 'unexpected',
            message,
            hint: hint ?? null,
            status: known?.status ?? null,
            request_id: known?.requestId ?? null,
          },
        }),
      ),
    );
  }
  return { text: `${lines.join('\n')}\n`, exit: known?.exit ?? Exit.unexpected };
}
