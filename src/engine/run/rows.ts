/**
 * The one walk over the rows of a run: each row in order, with what became of it. Rejects files and the file of outcomes
 * are written from it.
 */
import { type RequestRecord, rangesOf } from '../model/requests.js';
import { isDecided, type RunRequests } from '../model/run-requests.js';
import {
  buildItems,
  filteredRows,
  type ItemBatch,
  idOfItem,
  idOfOriginal,
  type OpenedInput,
  type OriginalRow,
  Pool,
  type Scan,
  startOf,
} from '../read/index.js';
import { shortId } from '../state/history.js';
import type { State } from '../state/state.js';
import { classOf } from '../states.js';
import { MERGED, outcomesOf, type RowOutcome, without } from './outcome.js';

export interface RunRow extends RowOutcome {
  /** Counted in its input from 0. */
  row: number;
  line: number;
  /** The identifier as it was sent; of a rejected or filtered row, the text of its cell. */
  id: string;
}

/** An input, and how the run reads it. */
interface WalkedInput {
  opened: OpenedInput;
  scan: Pick<Scan, 'schema' | 'marks' | 'ids'>;
}

interface WalkDeps {
  state: Pick<State, 'history' | 'sends' | 'secret'>;
  threads: number;
  signal: AbortSignal;
}

/** Rows of a request that follow each other in an input. */
interface Stretch {
  first_row: number;
  end_row: number;
  record: RequestRecord;
}

type What = keyof ReturnType<typeof outcomesOf>;
type Classify = (id: string, hash: bigint) => RowOutcome;

export class RunRows {
  /** By input, in the order of its rows. */
  readonly #stretches = new Map<number, Stretch[]>();
  /** The ids so far of each request that has merged rows, until its last row: requests may take turns. */
  readonly #seen = new Map<number, Set<string>>();

  /** @param unsent the reason given for rows that are in no request */
  constructor(
    private readonly run: string,
    private readonly requests: RunRequests,
    private readonly deps: WalkDeps,
    private readonly unsent = 'the import stopped first',
  ) {
    for (const record of requests.ends) {
      for (const { input, first_row, end_row } of rangesOf(record)) {
        const known = this.#stretches.get(input) ?? [];
        known.push({ first_row, end_row, record });
        this.#stretches.set(input, known);
      }
    }
    for (const known of this.#stretches.values()) known.sort((a, b) => a.first_row - b.first_row);
  }

  /** Whether the service refused rows of an input for good. */
  hasRefused(input: number): boolean {
    return this.#stretches.get(input)?.some(({ record }) => record.state === 'rejected') ?? false;
  }

  /**
   * The rows of an input, in batches. Memory holds the current batches, and what is recorded of the current request. A
   * request may have rows of several inputs, so they are walked in order.
   * @throws InputError if the input has changed; the signal's reason when aborted
   */
  async *walk(index: number, input: WalkedInput): AsyncGenerator<RunRow[]> {
    const { state, threads, signal } = this.deps;
    const { opened, scan } = input;
    const pool = new Pool({ threads });
    const reading = { planned: scan, signal };
    const items = buildItems(opened, scan.schema, { ...reading, hashKey: state.secret, pool });
    try {
      yield* inOrder(this.#read(items, index, opened), filteredRows(opened, reading), opened);
    } finally {
      await pool.close();
    }
  }

  /** Rows that became items, and rejected rows. */
  async *#read(
    batches: AsyncIterable<ItemBatch>,
    input: number,
    opened: OpenedInput,
  ): AsyncGenerator<RunRow[]> {
    const stretches = this.#stretches.get(input) ?? [];
    const nowhere = without('unsent', this.unsent);
    let next = 0;
    let classify: Classify | null = null;
    for await (const batch of batches) {
      const rows = batch.rejected.map(original(opened, 'rejected'));
      const bytes = Buffer.from(batch.items.buffer, batch.items.byteOffset, batch.items.byteLength);
      for (let at = 0; at < batch.ends.length; at++) {
        const [row, hash] = [batch.rows[at]!, batch.ids[at]!];
        for (; next < stretches.length && row >= stretches[next]!.end_row; next++) {
          classify = null;
          const { record, end_row } = stretches[next]!;
          const last = rangesOf(record).at(-1)!;
          if (last.input === input && last.end_row === end_row) this.#seen.delete(record.seq);
        }
        const stretch = stretches[next];
        const isIn = stretch !== undefined && row >= stretch.first_row;
        if (isIn) classify ??= await this.#classifier(stretch.record);
        const id = idOfItem(bytes, startOf(batch, at), opened.kind);
        rows.push({ row, line: batch.lines[at]!, id, ...(isIn ? classify!(id, hash) : nowhere) });
      }
      if (rows.length > 0) yield rows.sort((a, b) => a.row - b.row);
    }
  }

  /** Tells the outcomes of the rows of a request, which it is asked in order. */
  async #classifier(record: RequestRecord): Promise<Classify> {
    const chain = this.requests.chainOf(record);
    const outcomes = { ...outcomesOf(chain), unchanged: without('unchanged', null) };
    const { sent } = outcomes;
    if (sent.outcome === 'unsent') sent.reason ??= this.unsent;
    if (!isDecided(chain)) return () => sent;
    const merged: RowOutcome = { ...sent, outcome: 'merged', reason: MERGED };
    const found = await this.#found(record, chain);
    const merges = record.merged > 0 && classOf(chain).rows === 'submitted';
    const ids = this.#seen.get(record.seq) ?? new Set<string>();
    if (merges) this.#seen.set(record.seq, ids);
    return (id, hash) => {
      const what = found === null ? 'sent' : (found.get(shortId(hash)) ?? 'unchanged');
      if (what !== 'sent' || !merges) return outcomes[what];
      return ids.size < ids.add(id).size ? sent : merged;
    };
  }

  /** What a request did with its ids, by `shortId`, except for unchanged ones; null if it has sent them all. */
  async #found(record: RequestRecord, chain: readonly RequestRecord[]): Promise<Map<bigint, What> | null> {
    const { history, sends } = this.deps.state;
    if (record.unchanged + record.left_out === 0) return null;
    const found = new Map<bigint, What>();
    if (record.rows + record.left_out === 0) return found;
    // If a part was never sent itself, that of the request that it is a part of.
    let known: Awaited<ReturnType<typeof history.ofRequest>> = null;
    for (const { seq } of chain) known ??= await history.ofRequest(this.run, seq);
    for (const what of ['doubtful', 'overtaken', 'leftOut', 'sent'] as const)
      for (const id of known?.[what] ?? []) found.set(id, what);
    // What was pruned from the history may still be known as sent.
    if (!known) for (const id of await sends.idsOf(this.run, record.seq)) found.set(shortId(id), 'sent');
    return found;
  }
}

/** A row that became no item. */
const original =
  (input: OpenedInput, outcome: 'rejected' | 'filtered') =>
  (row: OriginalRow & { reason?: string }): RunRow => ({
    row: row.row,
    line: row.line,
    id: idOfOriginal(row.original, input),
    ...without(outcome, row.reason ?? null),
  });

/** Puts the rows that `where` and `limit` leave out in their places among the others. Closes both streams when the consumer stops early. */
async function* inOrder(
  read: AsyncGenerator<RunRow[]>,
  filtered: AsyncGenerator<OriginalRow[]>,
  input: OpenedInput,
): AsyncGenerator<RunRow[]> {
  let waiting: RunRow[] = [];
  const take = async (): Promise<boolean> => {
    const next = await filtered.next();
    if (next.done !== true) waiting = waiting.concat(next.value.map(original(input, 'filtered')));
    return next.done !== true;
  };
  try {
    for await (const rows of read) {
      const last = rows.at(-1)!.row;
      while ((waiting.at(-1)?.row ?? -1) < last && (await take()));
      const later = waiting.findIndex(({ row }) => row > last);
      rows.push(...waiting.splice(0, later < 0 ? waiting.length : later));
      yield rows.sort((a, b) => a.row - b.row);
    }
    do yield waiting.splice(0);
    while (await take());
  } finally {
    await filtered.return(undefined);
    await read.return(undefined);
  }
}
