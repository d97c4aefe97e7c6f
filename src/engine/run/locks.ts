/** Takes the locks of an import. */

import { InterruptedError, LockedError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Kind } from '../model.js';
import { sameScope } from '../state/access.js';
import type { HeldLease, Scope, State } from '../state/state.js';
import type { Clock } from '../util/clock.js';
import { formatDuration } from '../util/duration.js';

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
 * Tries once a second to take the locks.
 * @throws LockedError if a lock is still taken after `waitMs`; if the signal is aborted, its reason if that
 * is a ProfilesError, otherwise InterruptedError
 */
export async function* waitForLocks(
  { scope, kinds, holder }: { scope: Scope; kinds: readonly Kind[]; holder: string },
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
  { state, clock }: { state: State; clock: Clock },
): AsyncGenerator<ImportEvent, HeldLease[]> {
  const until = clock.monotonic() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await takeLocks(state, scope, kinds, holder);
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
  const running = (await state.runs.all()).find(
    (r) => r.status === 'running' && sameScope(r.scope, scope) && r.kinds.includes(kind),
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
