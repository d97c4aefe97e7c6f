/** Takes the locks of an import, and records its run before the first request is sent. */

import { InterruptedError, LockedError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import { contentOf, type Scanned } from '../plan/plan.js';
import { ITEM_FORMAT_VERSION } from '../read/index.js';
import { isWebAddress } from '../service/address.js';
import type { RequestRecord } from '../state/requests.js';
import type { StoredRun } from '../state/runs.js';
import { sameScope } from '../state/scopes.js';
import type { HeldLease, Made, Scope, State } from '../state/state.js';
import type { Clock } from '../util/clock.js';
import { formatDuration } from '../util/duration.js';
import { hasUnseenJobs } from './earlier.js';
import { storeOptions } from './private.js';
import { identityOf } from './run.js';
import { sweepSpools } from './tidy.js';

/**
 * Takes the lock of each kind, then marks crashed runs of that kind. One import per account and kind runs at
 * a time with one state (contract §4). If one lock is taken, the others are released again.
 * @param holder the run and its files; shown by processes that find the lock taken while this one is still
 * planning
 * @throws LockedError that names the run with the lock
 */
export async function takeLocks(
  state: State,
  scope: Scope,
  kinds: readonly Kind[],
  holder = '',
): Promise<HeldLease[]> {
  const locks: HeldLease[] = [];
  try {
    for (const kind of kinds) {
      const taken = await state.locks.take(scope, kind, holder);
      if (!taken) throw await lockedBy(state, scope, kind);
      locks.push(taken);
      await state.runs.markCrashed(scope, kind);
    }
    return locks;
  } catch (error) {
    for (const lock of locks) await lock.release();
    throw error;
  }
}

/** Time between two attempts to take the locks. */
const AGAIN_MS = 1_000;

/**
 * Calls `take` once a second until it returns the locks.
 * @throws LockedError if a lock is still taken after `waitMs`; if the signal is aborted, its reason if that
 * is a ProfilesError, otherwise InterruptedError
 */
export async function* waitForLocks(
  take: () => Promise<HeldLease[]>,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
  clock: Clock,
): AsyncGenerator<ImportEvent, HeldLease[]> {
  const until = clock.monotonic() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await take();
    } catch (error) {
      const left = until - clock.monotonic();
      if (!(error instanceof LockedError) || left <= 0) throw error;
      if (isFirst)
        yield { type: 'notice', message: `waiting up to ${formatDuration(waitMs)}: ${error.message}` };
      await clock.sleep(Math.min(AGAIN_MS, left), signal).catch(() => {
        throw InterruptedError.of(signal);
      });
    }
  }
}

async function lockedBy(state: State, scope: Scope, kind: Kind): Promise<LockedError> {
  const running = (await state.runs.all({ status: 'running' })).find(
    (r) => sameScope(r.scope, scope) && r.kinds.includes(kind),
  );
  const lock = (await state.locks.held(scope)).find((held) => held.kind === kind);
  const which = running
    ? `run ${running.run} (${running.paths.join(', ')}, since ${running.started_at})`
    : `${lock?.holder ?? 'it'} is still planning`;
  return new LockedError(`another import of ${kind} for this account is running: ${which}`, {
    hint: 'wait for it to end; one import per account and kind runs at a time',
    problem: { code: 'import_running', run: running?.run ?? null },
  });
}

export interface RunToBegin {
  run: string;
  scope: Scope;
  /** Configured name of the account, or null. */
  account: string | null;
  options: ImportOptions;
  scanned: Scanned;
  /** Rejects file of each input, or null. */
  rejects: readonly (string | null)[];
  /**
   * For a saved plan: its requests, and when it was made, after which requests of other runs count as sent later;
   * null for the time at which the run begins.
   */
  planned?: { requests: readonly RequestRecord[]; made: Made | null } | undefined;
}

/**
 * Records a new run.
 * @param sends whether rows will be sent. If so, older unfinished runs of the same files end as `superseded`,
 * since their requests no longer match the rows
 * @returns ids of the superseded runs
 */
export async function beginRun(
  { run, scope, account, options, scanned, rejects, planned }: RunToBegin,
  sends: boolean,
  state: State,
  clock: Clock,
): Promise<string[]> {
  // Before the run is recorded: a resume of the run must be able to rely on it.
  if (sends && options.full) {
    for (const kind of scanned.duplicates.keys()) await state.known.clear(scope, kind);
  }
  const paths = scanned.inputs.map(({ opened }) => opened.path);
  // Paths of web addresses are stored without their query strings, which may contain signatures.
  const shown = { ...options, paths };
  const known = await state.runs.all();
  // Each run has its own copy of a downloaded input, so downloads are compared by address, not by location.
  const addresses = new Set(scanned.inputs.map(({ opened }) => opened.path).filter(isWebAddress));
  const digests = new Map(scanned.inputs.map(({ opened, scan }) => [opened.location, scan.digest]));
  // On another machine, a path may lead to another file.
  const isOfFile = ({ machine, inputs }: StoredRun): boolean =>
    inputs.some(
      ({ path, location, digest }) =>
        addresses.has(path) ||
        (digests.has(location) && (machine === state.machine || digests.get(location) === digest)),
    );
  const old = known.filter(
    (r) =>
      sends && r.run !== run && !r.finished && !hasUnseenJobs(r) && sameScope(r.scope, scope) && isOfFile(r),
  );
  const replaces = old.flatMap((r) => [r.run, ...r.replaces]);
  const stored = {
    run,
    scope,
    named_account: account,
    identity: identityOf(scope, contentOf(scanned), options),
    status: 'running',
    finished: false,
    item_format: ITEM_FORMAT_VERSION,
    options: await storeOptions(state, run, shown),
    machine: state.machine,
    replaces,
    started_at: new Date(clock.now()).toISOString(),
    inputs: scanned.inputs.map(({ opened, scan }, index) => ({
      path: opened.path,
      location: opened.location,
      kind: opened.kind,
      digest: scan.digest,
      rejects_file: rejects[index] ?? null,
      types: scan.schema.types,
    })),
  } as const;
  await state.runs.start(stored, sends ? planned : undefined);
  if (!sends) return [];
  // After the run is recorded: until then, the older runs are the only ones that a resume can continue.
  for (const { run } of old) {
    await state.runs.end(run, { status: 'superseded', finished: true, endedBy: null, summary: null });
    state.spools.remove(run);
  }
  await sweepSpools(known, state, clock.now());
  return old.map(({ run }) => run);
}
