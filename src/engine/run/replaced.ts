/** What runs that this one has replaced may have sent: their requests whose answers were lost. */
import type { Kind } from '../model.js';
import type { State } from '../state/state.js';
import { isInDoubt, requestStatus } from '../states.js';

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
