/** A run as `profiles runs` lists it, and the commands for it. */
import type { StoredRun } from '../../../engine/state/runs.js';
import type { Commands } from '../../advice/commands.js';
import type { Context } from '../../context.js';
import { type ListRecord, Names } from '../../output/records.js';
import { commandsAt } from '../recorded.js';

export const commandsFor = (
  { scope, named_account: account }: StoredRun,
  context: Context,
): Promise<Commands> => commandsAt({ scope, account }, context);

export const resumeOf = (run: StoredRun, { command }: Commands): string | null =>
  run.finished || run.status === 'running' ? null : command('resume', run.run);

export function recordOf(run: StoredRun, commands: Commands): ListRecord {
  const rows = run.summary?.rows;
  return {
    run: run.run,
    status: run.status,
    kinds: new Names(run.kinds),
    files: new Names(run.paths),
    read: rows?.read ?? null,
    filtered: rows?.filtered ?? null,
    submitted: rows?.submitted ?? null,
    rejected: rows?.rejected ?? null,
    unknown: rows?.unknown ?? null,
    unsent: rows?.unsent ?? null,
    region: run.scope.region,
    account: run.scope.account,
    started_at: run.started_at,
    ended_at: run.ended_at,
    resume: resumeOf(run, commands),
  };
}
