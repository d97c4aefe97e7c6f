/** A retry never overtakes (contract §4): which ids of a run others have sent since. */
import type { Kind } from '../model.js';
import type { CutDeps } from '../send/cutting.js';
import type { LaterSends } from '../state/open-jobs.js';
import type { RequestRecord } from '../state/requests.js';
import type { Scope, State } from '../state/state.js';

/** By id, and for a request that is repeated: the run that sent it later, be it the same one, or null. */
export function sentLater(
  { id: run, scope, records }: { id: string; scope: Scope; records: readonly RequestRecord[] },
  kind: Kind,
  state: State,
  isSentAgain: (r: RequestRecord) => boolean,
): NonNullable<ReturnType<CutDeps['sentLater']>> {
  const later = state.sentLater(run, scope, kind);
  const own = sentByRun(run, scope, records, kind, state, isSentAgain);
  // Only for the ids that were in its last send does it matter what came after that send.
  const repeated = { seq: 0, send: 0, ids: new Set<bigint>() };
  return (id, repeats) => {
    const seq = repeats?.seq ?? 0;
    if (seq !== repeated.seq) {
      const [send, ids] = seq ? [state.lastSend(run, seq), state.idsOf(run, seq)] : [0, []];
      Object.assign(repeated, { seq, send, ids: new Set(ids) });
    }
    const after = repeated.ids.has(id) ? repeated.send : 0;
    return later.by(id, after) ?? (seq > 0 ? (own?.by(id, seq) ?? null) : null);
  };
}

/**
 * Ids that the run itself has sent, by the last request of its rows that has them: parts that send rows again count as
 * the request that they are of. What goes out again goes out in order; only what stays as it is can be overtaken.
 */
function sentByRun(
  run: string,
  scope: Scope,
  records: readonly RequestRecord[],
  kind: Kind,
  state: State,
  isSentAgain: (r: RequestRecord) => boolean,
): LaterSends | null {
  const again = new Set<number>();
  const roots = new Map<number, number>();
  // A part comes after what it is a part of.
  for (const r of records) {
    const root = r.parent === null ? r.seq : roots.get(r.parent)!;
    roots.set(r.seq, root);
    if (root === r.seq && isSentAgain(r)) again.add(root);
  }
  if (again.size === 0) return null;
  return state.sentByRun(run, scope, kind, (seq) => {
    const root = roots.get(seq) ?? 0;
    return again.has(root) ? 0 : root;
  });
}
