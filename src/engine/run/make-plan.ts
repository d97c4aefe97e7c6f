/**
 * Makes the plan of a session from its scans, the totals of its requests, and the user properties of the
 * service.
 */
import type { Kind, Plan } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { RequestTotals } from '../plan/estimate.js';
import { planOf, type Scanned, scansOf } from '../plan/plan.js';
import { checkProperties } from '../plan/properties.js';
import type { SavedRequest } from '../plan/saved-plan.js';
import type { PlanChanges } from '../plan-changes.js';
import { type ChunkDeps, countRequests } from '../send/read-chunks.js';
import type { ImportDeps } from './deps.js';
import { savedRequest } from './plan-requests.js';
import { type Apply, checkState, totalsOfPlan } from './planned.js';
import { type PlanStart, planToSave, withOffsets } from './save-plan.js';

interface From {
  run: string;
  options: ImportOptions;
  apply: Apply | null;
  changes: PlanChanges | undefined;
  /** Of the plan to save; null if there is no `savePlan`. */
  start: PlanStart | null;
}

/**
 * Makes the plan, and saves it if there is a `savePlan`.
 * @throws UsageError for a plan that cannot be saved
 */
export async function makePlan(
  scanned: Scanned,
  chunkDeps: ChunkDeps,
  { run, options, apply, changes, start }: From,
  deps: ImportDeps,
): Promise<{ plan: Plan; totals: RequestTotals }> {
  const { savePlan, scope } = deps;
  const requests: SavedRequest[] = [];
  const keep: Parameters<typeof countRequests>[3] = (chunk, body) => {
    requests.push(savedRequest(chunk, body));
  };
  const totals = apply
    ? totalsOfPlan(apply.plan)
    : await countRequests(scanned, chunkDeps, options.dryRun || deps.confirm !== undefined, savePlan && keep);
  const throughput = new Map<Kind, number | null>();
  for (const kind of scope ? scanned.duplicates.keys() : []) {
    throughput.set(kind, await deps.state.jobs.throughput(scope!, kind));
  }
  const plan = planOf(scanned, totals, (kind) => throughput.get(kind) ?? null);
  if (changes) plan.changes = changes;
  if (savePlan && start) {
    const placed = await withOffsets(requests, scanned, deps.stop);
    const from = { run, options, scanned, totals, changes, requests: placed, start };
    const saved = await planToSave(from, deps);
    await checkState(saved, deps); // another import may have sent something while it was made
    await savePlan(saved);
    plan.digest = saved.digest;
  }
  if (options.checkProperties) {
    const { records } = await (await deps.client()).lookup('user_properties', deps.stop);
    const columns = scansOf(scanned, 'users').flatMap((scan) => scan.columns);
    plan.properties = checkProperties(columns, records);
  }
  return { plan, totals };
}
