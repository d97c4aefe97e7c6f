/**
 * Leaves out rows whose ids were sent later, just before a request is sent: nothing older may overwrite newer data
 * (contract §4 "A retry never overtakes").
 */
import type { RequestRecord } from '../state/requests.js';
import { shortId } from '../state/row-lists.js';
import { isAcknowledged, isInDoubt, requestStatus } from '../states.js';
import type { Chunk, SentBefore } from './chunk.js';
import type { DeliverDeps } from './follow.js';
import { leave } from './pick.js';

/**
 * @param root the request of which all these rows are, which is sent or repeated; null for a new one. Rows that it found
 * unchanged stay so
 * @returns the same chunk if nothing of it was sent later
 */
export async function leaveOut(
  chunk: Chunk,
  root: RequestRecord | null,
  { run, sentLater, state }: Pick<DeliverDeps, 'run' | 'sentLater' | 'state'>,
): Promise<Chunk> {
  const by = (await sentLater(root)) ?? (() => null);
  const had = root && root.unchanged > 0 ? await state.history.ofRequest(run, root.seq) : null;
  const sent = had && new Set(Object.values(had).flatMap((rows) => rows.flatMap(({ ids }) => [...ids])));
  const isUnchanged = (id: bigint): boolean => sent !== null && !sent.has(shortId(id));
  if (!chunk.prints.ids.some((id) => isUnchanged(id) || by(id) !== null)) return chunk;
  // Another import could send them because this one has lost its lock.
  state.locks.check();
  return leave(chunk, by, isUnchanged);
}

/**
 * Marks the rows that a chunk leaves out, if an earlier attempt sent them, or another request whose rows this one sends
 * again. What was acknowledged stays so, whatever was in doubt before.
 */
export async function markSent(
  { leftOut }: Pick<Chunk, 'leftOut'>,
  record: RequestRecord,
  { run, requests, state }: Pick<DeliverDeps, 'run' | 'requests' | 'state'>,
): Promise<void> {
  if (leftOut.length === 0) return;
  const sent = { submitted: new Set<number>(), unknown: new Set<number>() };
  for (const of of requests.chainOf(record)) {
    const before = sentBefore(of);
    if (before) for (const id of await state.sends.idsOf(run, of.seq)) sent[before].add(shortId(id));
    const rows = of.overtaken + of.doubtful > 0 ? await state.history.ofRequest(run, of.seq) : null;
    for (const { ids } of rows?.overtaken ?? []) for (const id of ids) sent.submitted.add(id);
    for (const { ids } of rows?.doubtful ?? []) for (const id of ids) sent.unknown.add(id);
  }
  for (const row of leftOut) {
    const id = shortId(row.id);
    row.before = sent.submitted.has(id) ? 'submitted' : sent.unknown.has(id) ? 'unknown' : null;
  }
}

function sentBefore(r: RequestRecord): SentBefore | null {
  const status = requestStatus(r);
  if (isAcknowledged(status) || r.job !== null) return 'submitted';
  return isInDoubt(status) || r.possibleDuplicate !== null ? 'unknown' : null;
}
