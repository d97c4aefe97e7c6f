/** Records in the state how a session of a run begins and ends, and deletes what is no longer needed. */

import { createHash } from 'node:crypto';
import { failureAfter, LockLostError, ProfilesError, StateError } from '../errors.js';
import type { RequestRecord } from '../model/requests.js';
import { RunRequests } from '../model/run-requests.js';
import { type Kind, MAX_PLAN_AGE_MS, type Summary } from '../model.js';
import { givenFacts } from '../options/file-facts.js';
import type { ImportOptions } from '../options.js';
import { contentOf, type Scanned } from '../plan/plan.js';
import { ITEM_FORMAT_VERSION } from '../read/index.js';
import { failedCanaries, isCanaryDue } from '../send/next.js';
import { isWebAddress } from '../service/address.js';
import { sameScope } from '../state/access.js';
import { HISTORY_KEPT_MS } from '../state/history.js';
import type { PlannedRequests, StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import { storeOptions } from './recorded.js';
import type { Session } from './session.js';
import { isCarriedOut } from './start.js';
import { failedOf, retriesOf } from './summary.js';

/**
 * Hashes the content, kinds, mapping, and host. An import continues an unfinished run only if both have the same identity
 * (contract §4).
 * @returns hexadecimal
 */
export function identityOf(
  scope: Scope,
  inputs: readonly { digest: string; kind: Kind }[],
  options: ImportOptions,
): string {
  const { kind, id, companyId, userId, byKind, rules } = options;
  const { where = [], limit, maxCellBytes, chunkBytes } = options;
  const content = [scope.region, scope.base_url, inputs.map((i) => [i.digest, i.kind])];
  const mapping = [kind, id, companyId, userId, byKind, rules];
  // These limits decide which rows are invalid. With different limits, sent and rejected rows would overlap.
  const bounds = [maxCellBytes, chunkBytes];
  const all = [content, mapping, givenFacts(options), bounds, where, limit];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex');
}

/** Adds requests that send rows again: those that are asked for, or if rows are sent, those of a canary that did not complete. */
export function addRetries({ requests, canary, failed }: Session, sends: boolean): RequestRecord[] {
  const isCanary = sends && failed.length === 0 && isCanaryDue(canary, requests);
  const retries = retriesOf(requests, isCanary ? failedCanaries(requests) : failed);
  requests.add(...retries);
  return retries;
}

/** Records that a run continues. @param retries requests that this session has added to it */
export async function reopen(session: Session, run: StoredRun, retries: RequestRecord[]): Promise<void> {
  const { deps, options, began, scanned, canary } = session;
  const { state } = deps;
  const places = (scanned?.inputs ?? [])
    .map(({ opened }, index) => [index, opened.location] as [number, string])
    .filter(([index, location]) => run.inputs[index]?.location !== location);
  // Without rows, there are no values: what is stored stays.
  const { rules, byKind, where } = scanned ? await storeOptions(state, run.run, options, places) : began;
  const outcomes = options.outcomes ?? began.outcomes ?? null;
  // Its paths stay as they were recorded: without the signatures of addresses.
  const kept = { paths: began.paths ?? [], canary, outcomes, failed: false };
  await state.runs.reopen(run.run, {
    options: { ...options, rules, byKind, where, ...kept },
    requests: retries,
    stays: scanned === null,
  });
}

/**
 * Records that a new run begins.
 * @param sends whether rows will be sent; if so, it supersedes unfinished runs of the same files, since their
 * requests no longer match the rows
 * @returns ids of the superseded runs
 */
export async function begin(
  session: Session,
  scanned: Scanned,
  planned: PlannedRequests | undefined,
  sends: boolean,
): Promise<string[]> {
  const { deps, options, scope, id: run } = session;
  const { state, clock, service } = deps;
  const known = await state.runs.all();
  const old = sends ? supersededBy({ run, scope, machine: state.machine }, scanned, known) : [];
  const replaces = old.flatMap((r) => [r.run, ...r.replaces]);
  // Paths of web addresses are stored without their query strings, which may contain signatures.
  const shown = { ...options, paths: scanned.inputs.map(({ opened }) => opened.path) };
  const stored = {
    ...{ run, scope, replaces, machine: state.machine, item_format: ITEM_FORMAT_VERSION },
    ...({ status: 'running', finished: false } as const),
    named_account: service.account,
    identity: identityOf(scope, contentOf(scanned), options),
    options: await storeOptions(state, run, shown),
    started_at: new Date(clock.now()).toISOString(),
    inputs: scanned.inputs.map(({ opened: { path, location, kind }, scan: { digest, rows, schema } }) => {
      return { path, location, kind, digest, types: schema.types, rows };
    }),
  };
  await state.runs.start(stored, sends ? planned : undefined);
  session.keepSpool();
  session.replaces = replaces;
  if (!sends) return [];
  session.requests.add(...(planned?.requests ?? []));
  // After the run is recorded: until then, the older runs are the only ones that a resume can continue.
  for (const { run } of old) {
    await state.runs.end(run, { status: 'superseded', finished: true, endedBy: null, summary: null });
    state.spools.remove(run);
  }
  await sweepSpools(known, state, clock.now());
  return old.map(({ run }) => run);
}

/** Older unfinished runs of the same files, whose place a new run takes. */
function supersededBy(
  { run, scope, machine: here }: Pick<StoredRun, 'run' | 'scope' | 'machine'>,
  { inputs }: Scanned,
  known: readonly StoredRun[],
): StoredRun[] {
  // Each run has its own copy of a downloaded input, so downloads are compared by address, not by location.
  const addresses = new Set(inputs.map(({ opened }) => opened.path).filter(isWebAddress));
  const digests = new Map(inputs.map(({ opened, scan }) => [opened.location, scan.digest]));
  // On another machine, a path may lead to another file.
  const isOfFile = ({ machine, inputs }: StoredRun): boolean =>
    inputs.some(
      ({ path, location, digest }) =>
        addresses.has(path) ||
        (digests.has(location) && (machine === here || digests.get(location) === digest)),
    );
  return known.filter((r) => r.run !== run && !r.finished && sameScope(r.scope, scope) && isOfFile(r));
}

/**
 * Records that the session ended. If another import took over the lock, the state refuses this.
 * @param failure the error that ended the session early, or null
 * @param distinct a lower bound for the number of different identifiers of a kind that the run has sent
 * @returns the error to report, or null. After a lost lock, the new error may name who took it over
 * @throws the error of the state if no earlier failure is to be reported (`failureAfter`)
 */
export async function end(
  session: Session,
  summary: Summary,
  failure: unknown,
  distinct: (kind: Kind) => number,
): Promise<unknown> {
  const { deps, id, scope, wasFinished, requests } = session;
  const { state, clock } = deps;
  // Nothing is left to send, even if its jobs could not be followed to their ends.
  const finished = !failure || wasFinished;
  const endedBy = failure instanceof ProfilesError ? failure.code : null;
  try {
    await state.runs.end(id, { status: summary.status, finished, endedBy, summary });
    if (failure) return failure;
    // While requests remain that failed, the copies of the inputs stay: the requests can be sent again.
    if (failedOf(requests).length === 0) state.spools.remove(id);
    // The command that sends its valid rows needs them.
    if (!isCarriedOut(summary)) await storeOptions(state, id, session.options);
  } catch (error) {
    return failureAfter(error, failure);
  }
  try {
    // Outdated fingerprints and old history. If that fails, the next run deletes them when it ends.
    for (const kind of summary.kinds) await state.known.compact(scope, kind, distinct(kind));
    await state.history.prune(clock.now() - HISTORY_KEPT_MS);
  } catch (error) {
    // Not reported: the run is recorded as ended, and the advice to resume would be wrong.
    if (!(error instanceof StateError) && !(error instanceof LockLostError)) throw error;
  }
  return failure;
}

/**
 * Deletes the spools of finished runs, and old ones of runs that sent nothing or are not known: another machine may have finished or
 * forgotten them. An import that is still planning has a spool before it has a record, and another database may know it.
 */
async function sweepSpools(known: readonly StoredRun[], state: State, now: number): Promise<void> {
  for (const { run, changedAt } of state.spools.all()) {
    const of = known.find((one) => one.run === run);
    const isOver =
      of && isCarriedOut(of)
        ? of.finished && failedOf(new RunRequests(await state.requests.of(run))).length === 0
        : changedAt < now - MAX_PLAN_AGE_MS;
    if (isOver) state.spools.remove(run);
  }
}
