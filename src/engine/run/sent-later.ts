/**
 * Decides what a run that continues sends again: a retry must not overwrite newer data (contract §4 "A retry
 * never overtakes").
 */
import type { Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { DeliverDeps } from '../send/follow.js';
import { nextStep, rulesOf } from '../send/next.js';
import type { RequestRecord } from '../state/requests.js';
import type { RunRequests } from '../state/run-requests.js';
import type { SentIds } from '../state/sent-ids.js';
import type { Scope, State } from '../state/state.js';
import { isInDoubt, requestStatus } from '../states.js';

/** What is left to do for the requests of earlier sessions and of a saved plan. */
export function repeatRules(
  { requests }: { requests: RunRequests },
  options: ImportOptions,
): {
  /** Requests that decide how the rows of these inputs are split. */
  recorded(isWanted: (input: number) => boolean): RequestRecord[];
  /** Whether anything is left to do for the rows of a request. @param r without a parent */
  isSentAgain(r: RequestRecord): boolean;
  /** Whether nothing is left to do for the request with this number. */
  isDone(seq: number): boolean;
} {
  const rules = rulesOf(options);
  const isSentAgain = (r: RequestRecord): boolean => nextStep(r, requests, rules) !== null;
  return {
    recorded: (isWanted) => requests.all.filter((r) => r.parent === null && isWanted(r.input)),
    isSentAgain,
    isDone: (seq) => {
      const r = requests.of(seq);
      return r !== undefined && !isSentAgain(r);
    },
  };
}

/**
 * Makes `DeliverDeps.sentLater` for a kind. Rows that are sent again may also have been sent later by this run, in a
 * later request.
 */
export async function sentLater(
  { id: run, scope, requests }: { id: string; scope: Scope; requests: RunRequests },
  kind: Kind,
  state: State,
  isSentAgain: (r: RequestRecord) => boolean,
): Promise<DeliverDeps['sentLater']> {
  const own = await sentByRun(run, scope, requests, kind, state, isSentAgain);
  return async (repeats) => {
    // Read again for each request: `identify` may send a profile at any time, without a lock.
    const others = await state.sends.later(run, scope, kind);
    if (others.isEmpty && !own) return null;
    if (!repeats) return (id) => others.by(id, 0);
    const { seq } = repeats;
    // For ids that its last send had, only later sends matter. Its other ids were not sent then.
    const send = await state.sends.last(run, seq);
    const ids = new Set(await state.sends.idsOf(run, seq));
    return (id) => others.by(id, ids.has(id) ? send : 0) ?? own?.by(id, seq) ?? null;
  };
}

/**
 * The ids that this run has sent, each with its last request; null if no request is sent again. A part of a
 * request counts as that request. Requests that are sent again do not count: they go out in order, so none of
 * them overwrites a later one.
 */
async function sentByRun(
  run: string,
  scope: Scope,
  requests: RunRequests,
  kind: Kind,
  state: State,
  isSentAgain: (r: RequestRecord) => boolean,
): Promise<SentIds | null> {
  const again = new Set<number>();
  for (const r of requests.all) if (r.parent === null && isSentAgain(r)) again.add(r.seq);
  if (again.size === 0) return null;
  return state.sends.byRun(run, scope, kind, (seq) => {
    const r = requests.of(seq);
    const root = r ? requests.chainOf(r).at(-1)!.seq : 0;
    return again.has(root) ? 0 : root;
  });
}

/** @returns by id: why it may have arrived */
export async function lostIn(
  runs: readonly string[],
  kind: Kind,
  state: Pick<State, 'runs' | 'requests' | 'sends'>,
): Promise<Map<bigint, string>> {
  const lost = new Map<bigint, string>();
  for (const run of runs) {
    const [known] = await state.runs.all({ run });
    for (const r of known ? await state.requests.of(run) : []) {
      if (!isInDoubt(requestStatus(r)) || known!.inputs[r.input]!.kind !== kind) continue;
      const why = r.reason ?? 'the import ended before the answer was read';
      for (const id of await state.sends.idsOf(run, r.seq))
        lost.set(id, `run ${run} may have sent it: ${why}`);
    }
  }
  return lost;
}
