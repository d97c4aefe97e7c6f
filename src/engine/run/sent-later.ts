/** What a run that continues sends again, and what not: a retry never overtakes (contract §4). */
import type { Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { CutDeps } from '../send/cutting.js';
import { isOpen } from '../send/isolate.js';
import { isUnanswered } from '../send/recorded-ranges.js';
import type { LaterSends } from '../state/open-jobs.js';
import { type RequestRecord, requestOf, rootsNow } from '../state/requests.js';
import type { Scope, State } from '../state/state.js';

/** The requests of earlier sessions, and those of a saved plan, that say how the rows are cut. */
export function needsOf(
  run: {
    records: readonly RequestRecord[];
    /** Those of a plan that others send. */
    others: ReadonlySet<RequestRecord>;
  },
  options: ImportOptions,
): {
  recorded(isWanted: (input: number) => boolean): RequestRecord[];
  /** Whether its rows are needed once more. */
  isSentAgain(r: RequestRecord): boolean;
  /** Whether the request of this number needs none of its rows. */
  isDone(seq: number): boolean;
} {
  const isPlanned = options.plan !== undefined;
  const isSentAgain = (r: RequestRecord): boolean => {
    if (run.others.has(r)) return false;
    const isFollowed = options.isolate && options.wait && r.state === 'acknowledged';
    const waits = isPlanned && r.state === 'withdrawn';
    return waits || isUnanswered(r) || isFollowed || isOpen(r, run.records, options);
  };
  return {
    recorded: (isWanted) => {
      const wanted = [...run.records, ...run.others].filter((r) => isWanted(r.input));
      if (isPlanned) return rootsNow(wanted.sort((a, b) => a.seq - b.seq));
      return wanted.filter((r) => r.parent === null && r.state !== 'withdrawn');
    },
    isSentAgain,
    isDone: (seq) => {
      const r = requestOf(run.records, seq);
      return r ? !isSentAgain(r) : run.others.size > 0;
    },
  };
}

/** For a request that is repeated, or none, by id: the run that sent it later, be it the same one, or null. */
export async function sentLater(
  { id: run, scope, records }: { id: string; scope: Scope; records: readonly RequestRecord[] },
  kind: Kind,
  state: State,
  isSentAgain: (r: RequestRecord) => boolean,
): Promise<NonNullable<Awaited<ReturnType<CutDeps['sentLater']>>>> {
  const later = await state.sentLater(run, scope, kind);
  const own = await sentByRun(run, scope, records, kind, state, isSentAgain);
  return async (repeats) => {
    if (!repeats) return (id) => later.by(id, 0);
    const { seq } = repeats;
    // Only for the ids that were in its last send does it matter what came after that send.
    const send = await state.lastSend(run, seq);
    const ids = new Set(await state.idsOf(run, seq));
    return (id) => later.by(id, ids.has(id) ? send : 0) ?? own?.by(id, seq) ?? null;
  };
}

/**
 * Ids that the run itself has sent, by the last request of its rows that has them: parts that send rows again count as
 * the request that they are of. What goes out again goes out in order; only what stays as it is can be overtaken.
 */
async function sentByRun(
  run: string,
  scope: Scope,
  records: readonly RequestRecord[],
  kind: Kind,
  state: State,
  isSentAgain: (r: RequestRecord) => boolean,
): Promise<LaterSends | null> {
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
