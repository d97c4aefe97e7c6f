/** `profiles resume [run]`: continue an unfinished import (contract §4). */
import type { Command } from 'commander';
import { type ExitCode, UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import { restoreOptions } from '../../engine/run/run.js';
import type { StoredRun } from '../../engine/state/runs.js';
import { sameScope, sameService } from '../../engine/state/scopes.js';
import type { Scope } from '../../engine/state/state.js';
import type { Context } from '../context.js';
import { engineValues, WAITING } from '../options/index.js';
import { shellWord } from '../shell.js';
import { type Ending, examples, type Flags, type Wire } from './command.js';
import { type Report, reportOf, runAndReport } from './import-run.js';

interface Options {
  run: string | undefined;
  report: Report;
  waitTimeoutMs: number | null;
  intervalMs: number | null;
}

const TIMING = { interval: WAITING.interval, waitTimeout: WAITING.waitTimeout };

export function define(command: Command, wire: Wire): void {
  command.argument('[run]', 'run id (default: the newest unfinished run)');
  examples(command, ['profiles resume', 'profiles resume 20261120-101500-x7k2 --json']);
  command.action(wire(options, run));
}

function options([run]: readonly string[], flags: Flags): Options {
  return { run, report: reportOf(flags), ...engineValues(TIMING, flags) };
}

async function run(
  { run: id, report, waitTimeoutMs, intervalMs }: Options,
  context: Context,
): Promise<ExitCode | Ending> {
  const state = await context.state();
  const stored = choose(state.knownRuns(), id);
  const there = await contextOf(stored, context);
  checkService(stored, await there.scope());
  const kept = restoreOptions(state, stored);
  const { importDefaults } = await there.settings();
  const options = {
    ...kept,
    // The wait timeout belongs to the session, not to the run: a run whose wait timed out must be able to continue.
    waitTimeoutMs: waitTimeoutMs ?? engineValues(TIMING, importDefaults).waitTimeoutMs,
    intervalMs: intervalMs ?? kept.intervalMs,
    resume: false,
    full: false,
    dryRun: false,
  };
  return runAndReport(options, stored, report, there, stored.scope);
}

/** @throws UsageError for a run that is unknown or finished */
function choose(runs: readonly StoredRun[], id: string | undefined): StoredRun {
  if (id === undefined) {
    const newest = runs.find((run) => !run.finished);
    if (newest) return newest;
    throw new UsageError('no unfinished import to resume', { hint: 'profiles runs lists all imports' });
  }
  const found = runs.find((run) => run.run === id);
  if (!found) {
    const like = nearest(
      id,
      runs.map((run) => run.run),
    );
    throw new UsageError(`run "${id}" not found`, {
      hint: like ? `did you mean ${like}?` : 'profiles runs lists all imports',
    });
  }
  if (!found.finished) return found;
  throw new UsageError(`run ${id} is finished (${found.status}): there is nothing to resume`, {
    hint: `import again: profiles import ${found.paths.map(shellWord).join(' ')}`,
  });
}

/** A run continues where it started: its region and account replace flags that were not given. */
async function contextOf(run: StoredRun, context: Context): Promise<Context> {
  const settings = await context.settings();
  const { region, account } = context.flags;
  const flags = {
    ...(region === undefined && settings.region !== run.scope.region ? { region: run.scope.region } : {}),
    ...(account === undefined && run.named_account !== null && settings.account !== run.named_account
      ? { account: run.named_account }
      : {}),
  };
  return Object.keys(flags).length === 0 ? context : context.withFlags(flags);
}

/** The same service; another token only where the first was refused (contract §4). @throws UsageError */
function checkService(run: StoredRun, here: Scope): void {
  if (!sameService(here, run.scope)) {
    throw new UsageError(
      `run ${run.run} went to ${run.scope.base_url} (region ${run.scope.region}), not to ${here.base_url} (region ${here.region})`,
      { hint: 'resume with the region and host it started with' },
    );
  }
  if (sameScope(here, run.scope)) return;
  const unnamed = run.named_account === null && here.account.startsWith('token:');
  if (unnamed && run.ended_by === 'unauthorised') return;
  throw new UsageError(`run ${run.run} belongs to another account`, {
    hint: run.named_account
      ? `resume with --account ${run.named_account}`
      : 'resume with the token it started with',
  });
}
