/** A retry never overtakes (contract §4): which ids of a run others have sent since. */
import type { Kind } from '../model.js';
import type { CutDeps } from '../send/cutting.js';
import type { Scope, State } from '../state/state.js';

/** By id, and for a request that is repeated: the run that sent it later, or null. */
export function sentLater(
  { id: run, scope }: { id: string; scope: Scope },
  kind: Kind,
  state: State,
): NonNullable<ReturnType<CutDeps['sentLater']>> {
  const later = state.sentLater(run, scope, kind);
  // Only for the ids that were in its last send does it matter what came after that send.
  const repeated = { seq: 0, send: 0, ids: new Set<bigint>() };
  return (id, repeats) => {
    const seq = repeats?.seq ?? 0;
    if (seq !== repeated.seq) {
      const [send, ids] = seq ? [state.lastSend(run, seq), state.idsOf(run, seq)] : [0, []];
      Object.assign(repeated, { seq, send, ids: new Set(ids) });
    }
    return later.by(id, repeated.ids.has(id) ? repeated.send : 0);
  };
}
