/** `profiles help exit-codes` (contract §7). */
import { Exit } from '../../../engine/errors.js';
import { paragraph, twoColumns } from './layout.js';

/** One meaning for each code there is: a code without one does not compile. */
const MEANING: Record<keyof typeof Exit, string> = {
  done: 'done',
  unexpected: 'unexpected failure',
  usage: 'usage, config or input that cannot be read',
  waiting: 'waiting timed out (--wait-timeout); the jobs go on',
  unauthorised: 'there is no token, or it was refused',
  rejected: 'some rows were rejected, or are short in a job',
  service: 'the service or the network failed after retries; profiles resume goes on',
  jobFailed: 'a job failed',
  busy: 'another import of this account and kind is running',
  interrupted: 'interrupted by Ctrl-C; profiles resume goes on',
  terminated: 'ended by a signal (SIGTERM); profiles resume goes on',
};

export function exitCodes(): string {
  const rows = Object.entries(MEANING).map(
    ([name, meaning]) => [String(Exit[name as keyof typeof Exit]), meaning] as const,
  );
  return `Exit codes

${twoColumns(rows)}

${paragraph(`Where several apply, the first of 4, 6, 7, 3, 5 is given. With --json, the last line of
stderr is the error: {"error":{"code","message","hint","status","request_id"}}.`)}

In a script:
  profiles import companies.csv --json > result.json || code=$?
  case \${code:-0} in
    0) ;;
    3|6|130|143) profiles resume ;;
    5) echo "see the rejects file" ;;
    *) exit "$code" ;;
  esac`;
}
