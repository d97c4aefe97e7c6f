/** A request that carries out a saved plan, or continues a run: it has its inputs and most of its options from there. */
import { resolve } from 'node:path';
import { UsageError } from '../errors.js';
import { type ImportOptions, importNumbers, type SendOptions } from '../options.js';
import { mayContinue } from '../run/door.js';
import { loadPlan, startOfPlan } from '../run/plan-file.js';
import type { ImportDeps } from '../run/start.js';
import { chooseRun, startOfRun } from '../run/start.js';
import { checkSending, type ImportRequest } from './import-request.js';

/** The options that may differ from those that it began with. */
const CHANGES = [
  ...(['concurrency', 'canary', 'wait', 'waitTimeoutMs', 'waitForLockMs', 'intervalMs'] as const),
  ...(['retries', 'retryDelayMs', 'maxRetryAfterMs', 'busyTimeoutMs'] as const),
  ...(['onFailure', 'isolateJobs', 'maxChanged', 'rejects', 'outcomes'] as const),
] satisfies (keyof SendOptions)[];

/** What such a request may name beside those. */
const PLACES = 'plan run again files service stateDir state cwd threads signal abort'.split(' ');

/**
 * The options that differ from those that the plan or the run began with.
 * @param cwd absolute
 * @throws UsageError for an option that does not apply, a number out of range, or an unknown word
 */
export function changesOf(request: Partial<ImportRequest>, cwd: string): Partial<ImportOptions> {
  const { plan, run, rules = {}, where, outcomes, ...others } = request;
  if (plan !== undefined && run !== undefined) throw new UsageError('plan and run cannot be combined');
  // On another machine, its private values are given again.
  const { set, ...fixed } = rules;
  const own = { ...others, ...fixed, ...(plan !== undefined && { where, 'rules.set': set }) };
  const names = new Set<string>([...CHANGES, ...PLACES]);
  const wrong = Object.entries(own).find(([name, value]) => value !== undefined && !names.has(name));
  if (wrong) {
    throw new UsageError(
      `${wrong[0]} does not apply here: the ${plan === undefined ? 'run' : 'plan'} has its own`,
    );
  }
  checkSending(request);
  const all = { ...request, ...importNumbers(request), outcomes: outcomes && resolve(cwd, outcomes) };
  return Object.fromEntries(
    CHANGES.flatMap((name) => (request[name] === undefined ? [] : [[name, all[name]]])),
  );
}

/** The start of a plan, or of a run that continues. @throws UsageError if nothing is left to do */
export async function startOf(
  { plan: path, run, files: inputs = [], again = false, rules, where }: Partial<ImportRequest>,
  how: Partial<ImportOptions>,
  deps: ImportDeps,
): ReturnType<typeof startOfRun> {
  const { state, scope, service } = deps;
  if (!scope) throw new UsageError('service must be given');
  await state.refuseMoved();
  if (path !== undefined) {
    const { plan } = await loadPlan(path, deps);
    const applied = await startOfPlan(plan, { inputs, again, how }, deps);
    if ('start' in applied) return applied;
    const { run, status } = applied.ended;
    const why = status === 'superseded' ? 'was replaced by another import' : 'has applied this plan already';
    throw new UsageError(`run ${run} ${why}; nothing was sent`, {
      hint: 'to send it again, set again: true',
    });
  }
  const [known] = await state.runs.all({ run: run! });
  if (!known) throw new UsageError(`run ${run} not found`);
  if (!mayContinue(known, scope, service.account))
    throw new UsageError(`run ${run} belongs to another account or service`);
  const values = { sets: rules?.set && [rules.set], where };
  const given = { inputs, values, failed: again };
  return startOfRun(await chooseRun(known, again, state), given, how, state);
}
