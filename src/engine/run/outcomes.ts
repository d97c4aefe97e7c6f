/** What became of each row (contract §3 "Result"), in one pass over the inputs: nothing is kept but what a request needs. */
import type { PlannedInput } from '../plan/plan.js';
import { buildItems, type ItemBatch, idOfItem, idOfOriginal, Pool, startOf } from '../read/index.js';
import type { RequestRecord } from '../state/requests.js';
import type { State } from '../state/state.js';
import { OutcomesFile } from './outcome-file.js';
import { RowOutcomes } from './row-outcomes.js';

export interface OutcomeSource {
  run: string;
  records: readonly RequestRecord[];
  inputs: readonly PlannedInput[];
  state: Pick<State, 'rowsOf' | 'idsOf' | 'secret'>;
  threads: number;
  signal: AbortSignal;
  /** Why rows that no request had were not sent. */
  unsent: string;
}

/**
 * Writes the file anew.
 * @param path absolute
 * @throws OutputError; InputError for an input that was written to in the meantime; the signal's reason when aborted
 */
export async function writeOutcomes(path: string, source: OutcomeSource): Promise<void> {
  const { run, records, inputs, state, threads, signal, unsent } = source;
  const sent = new RowOutcomes(run, records, state, unsent);
  const file = new OutcomesFile(path);
  const pool = new Pool({ threads });
  try {
    for (const [input, { opened, scan }] of inputs.entries()) {
      const options = { hashKey: state.secret, records: false, pool, planned: scan.marks, signal };
      for await (const batch of buildItems(opened, scan.schema, options)) {
        addBatch(batch, input);
        await file.drain();
      }

      function addBatch(batch: ItemBatch, input: number): void {
        const { path, kind } = opened;
        const bytes = Buffer.from(batch.items.buffer, batch.items.byteOffset, batch.items.byteLength);
        const rejected = [...batch.rejected].sort((a, b) => a.row - b.row);
        let next = 0;
        const reject = (before: number): void => {
          for (; next < rejected.length && rejected[next]!.row < before; next++) {
            const { line, reason, original } = rejected[next]!;
            const id = idOfOriginal(original, opened);
            file.add({ file: path, line, id, outcome: 'rejected', request: null, job_id: null, reason });
          }
        };
        for (let at = 0; at < batch.ends.length; at++) {
          const [row, line] = [batch.rows[at]!, batch.lines[at]!];
          reject(row);
          const id = idOfItem(bytes, startOf(batch, at), kind);
          file.add({ file: path, line, id, ...sent.of({ input, row, line, id, hash: batch.ids[at]! }) });
        }
        reject(Number.POSITIVE_INFINITY);
      }
    }
    await file.finish();
  } finally {
    await Promise.all([file.discard(), pool.close()]);
  }
}
