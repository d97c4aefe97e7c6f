/**
 * Writes the outcome of each row (contract §3 "Result") in one pass over the inputs. Memory holds only the
 * current batch, and recorded rows of the requests that it belongs to.
 */
import { statSync } from 'node:fs';
import { InterruptedError, OutputError, ProfilesError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { PlannedInput, Scanned } from '../plan/plan.js';
import {
  buildItems,
  filteredRows,
  type ItemBatch,
  idOfItem,
  idOfOriginal,
  type OriginalRow,
  Pool,
  startOf,
} from '../read/index.js';
import type { RequestRecord } from '../state/requests.js';
import type { State } from '../state/state.js';
import { NoReaderError } from '../util/replace-file.js';
import type { ImportDeps } from './deps.js';
import { OutcomesFile } from './outcome-file.js';
import { RowOutcomes } from './row-outcomes.js';
import type { Ending } from './summary.js';

/**
 * Writes the file of outcomes at the end of a session, unless the session is aborted.
 * @param path absolute
 * @param ending how the session ended so far
 * @param deps `stop` ends waiting for the reader of a pipe
 * @returns `ending`; if the file cannot be written and nothing else failed, with that error, or with what ended the
 * wait: then the run stays unfinished, and a resume can write the file
 */
export async function* finishOutcomes(
  path: string,
  run: string,
  { inputs }: Scanned,
  ending: Ending,
  { state, threads, stop, abort }: Pick<ImportDeps, 'state' | 'threads' | 'stop' | 'abort'>,
): AsyncGenerator<ImportEvent, Ending> {
  const unsent =
    ending.mode === 'refused' ? 'nothing was sent: rows are invalid' : 'the import stopped first';
  const { records, failure } = ending;
  if (isPipe(path)) {
    yield { type: 'notice', message: `writing the outcome of each row as soon as something reads ${path}` };
  }
  try {
    abort.throwIfAborted();
    await writeOutcomes(path, { run, records, inputs, state, threads, stop, abort, unsent });
    yield { type: 'notice', message: `the outcome of each row is in ${path}` };
  } catch (error) {
    if (abort.aborted) return ending;
    if (!(error instanceof ProfilesError)) throw error;
    const isUnread = error.cause instanceof NoReaderError;
    if (error instanceof OutputError && !failure && !isUnread) return { ...ending, failure: error };
    yield { type: 'warning', message: `the outcomes of rows are not written: ${error.message}` };
    if (isUnread) return { ...ending, failure: failure ?? InterruptedError.of(stop) };
  }
  return ending;
}

/** False also if it cannot be examined: then writing fails, and says why. */
function isPipe(path: string): boolean {
  try {
    return statSync(path).isFIFO();
  } catch {
    return false;
  }
}

interface OutcomeSource {
  run: string;
  records: readonly RequestRecord[];
  inputs: readonly PlannedInput[];
  state: Pick<State, 'history' | 'sends' | 'secret'>;
  threads: number;
  /** Ends waiting for the reader of a pipe. */
  stop: AbortSignal;
  abort: AbortSignal;
  /** The reason given for rows that are in no request. */
  unsent: string;
}

/**
 * Writes the file, replacing an existing one.
 * @param path absolute
 * @throws OutputError; InputError if an input was changed in the meantime; the signal's reason when aborted
 */
async function writeOutcomes(path: string, source: OutcomeSource): Promise<void> {
  const { run, records, inputs, state, threads, stop, abort, unsent } = source;
  const outcomes = new RowOutcomes(run, records, state, unsent);
  const file = new OutcomesFile(path, { stop, abort });
  const pool = new Pool({ threads });
  try {
    for (const [index, input] of inputs.entries()) {
      const { opened, scan } = input;
      const reading = { planned: scan.marks, signal: abort };
      const filtered = filteredRows(opened, reading);
      const writer = new InputOutcomes(input, index, outcomes, file, filtered);
      const building = { ...reading, hashKey: state.secret, pool };
      try {
        for await (const batch of buildItems(opened, scan.schema, building)) {
          await writer.add(batch);
          await file.drain();
        }
        await writer.end();
      } finally {
        // It has its own open handle of the input.
        await filtered.return(undefined);
      }
    }
    await file.finish();
  } finally {
    await Promise.all([file.discard(), pool.close()]);
  }
}

/**
 * Writes the outcomes of one input in row order. Merges three sources: items, rejected rows, and filtered
 * rows.
 */
class InputOutcomes {
  /** Filtered rows that were read, in order. Those from `#at` on are not written yet. */
  #filtered: OriginalRow[] = [];
  #at = 0;

  constructor(
    private readonly input: PlannedInput,
    private readonly index: number,
    private readonly outcomes: RowOutcomes,
    private readonly file: OutcomesFile,
    private readonly leftOut: AsyncGenerator<OriginalRow[]>,
  ) {}

  async add(batch: ItemBatch): Promise<void> {
    const { path, kind } = this.input.opened;
    const rejected = [...batch.rejected].sort((a, b) => a.row - b.row);
    const first = Math.min(
      batch.rows[0] ?? Number.POSITIVE_INFINITY,
      rejected[0]?.row ?? Number.POSITIVE_INFINITY,
    );
    await this.#read(first, Math.max(batch.rows.at(-1) ?? -1, rejected.at(-1)?.row ?? -1));
    if (batch.ends.length > 0) await this.outcomes.prepare(this.index, batch.rows[0]!, batch.rows.at(-1)!);
    const bytes = Buffer.from(batch.items.buffer, batch.items.byteOffset, batch.items.byteLength);
    let next = 0;
    const before = (row: number): void => {
      for (let one = rejected[next]; one && one.row < row; one = rejected[++next]) {
        this.#filter(one.row);
        this.#put('rejected', one, one.reason);
      }
      this.#filter(row);
    };
    for (let at = 0; at < batch.ends.length; at++) {
      const [row, line] = [batch.rows[at]!, batch.lines[at]!];
      before(row);
      const id = idOfItem(bytes, startOf(batch, at), kind);
      const outcome = this.outcomes.of({ input: this.index, row, line, id, hash: batch.ids[at]! });
      this.file.add({ file: path, line, id, ...outcome });
    }
    for (; next < rejected.length; next++) {
      this.#filter(rejected[next]!.row);
      this.#put('rejected', rejected[next]!, rejected[next]!.reason);
    }
  }

  async end(): Promise<void> {
    for (;;) {
      this.#filter(Number.POSITIVE_INFINITY);
      await this.file.drain();
      if (!(await this.#more())) return;
    }
  }

  /** Writes the filtered rows before `first`, and reads on until all those before `last` are in `#filtered`. */
  async #read(first: number, last: number): Promise<void> {
    for (;;) {
      this.#filter(first);
      await this.file.drain();
      if ((this.#filtered.at(-1)?.row ?? -1) >= last || !(await this.#more())) return;
    }
  }

  async #more(): Promise<boolean> {
    if (this.input.opened.selection === null) return false;
    const next = await this.leftOut.next();
    if (next.done) return false;
    this.#filtered = [...this.#filtered.slice(this.#at), ...next.value];
    this.#at = 0;
    return true;
  }

  #filter(before: number): void {
    for (let one = this.#filtered[this.#at]; one && one.row < before; one = this.#filtered[++this.#at]) {
      this.#put('filtered', one, null);
    }
  }

  #put(outcome: 'rejected' | 'filtered', row: OriginalRow, reason: string | null): void {
    const { opened } = this.input;
    const id = idOfOriginal(row.original, opened);
    this.file.add({ file: opened.path, line: row.line, id, outcome, request: null, job_id: null, reason });
  }
}
