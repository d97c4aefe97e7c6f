/**
 * Leaves out rows whose ids were sent later, just before a request is sent: nothing older may overwrite newer data
 * (contract §4 "A retry never overtakes").
 */
import { type RequestRecord, requestOf } from '../state/requests.js';
import { shortId } from '../state/row-lists.js';
import { isAcknowledged, isInDoubt, requestStatus } from '../states.js';
import type { Chunk, LeftOut } from './chunk.js';
import type { DeliverDeps } from './follow.js';
import { leave } from './pick.js';

/**
 * @param root the request of which all these rows are, which is sent or repeated; null for a new one
 * @returns the same chunk if nothing of it was sent later
 */
export async function leaveOut(
  chunk: Chunk,
  root: RequestRecord | null,
  { sentLater, state }: Pick<DeliverDeps, 'sentLater' | 'state'>,
): Promise<Chunk> {
  const by = await sentLater(root);
  if (by === null || !chunk.prints.ids.some((id) => by(id) !== null)) return chunk;
  // Another import could send them because this one has lost its lock.
  state.check();
  return leave(chunk, by);
}

/**
 * Of rows that are left out: those that may have arrived with an earlier attempt, or with another request whose rows
 * this one sends again.
 */
export async function overtakenRows(
  leftOut: readonly LeftOut[],
  record: RequestRecord,
  { run, records, state }: Pick<DeliverDeps, 'run' | 'records' | 'state'>,
): Promise<LeftOut[]> {
  if (leftOut.length === 0) return [];
  const sent = new Set<number>();
  for (let of: RequestRecord | undefined = record; of; of = requestOf(records, of.parent ?? 0)) {
    if (mayHaveArrived(of)) for (const id of await state.idsOf(run, of.seq)) sent.add(shortId(id));
    const rows = of.overtaken > 0 ? await state.rowsOf(run, of.seq) : null;
    for (const { ids } of rows?.overtaken ?? []) for (const id of ids) sent.add(id);
  }
  return leftOut.filter(({ id }) => sent.has(shortId(id)));
}

const mayHaveArrived = (r: RequestRecord): boolean => {
  const status = requestStatus(r);
  return isAcknowledged(status) || isInDoubt(status) || r.job !== null || r.possibleDuplicate !== null;
};
