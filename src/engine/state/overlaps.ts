/**
 * Finds the rows of a request that must not be remembered, because another send may still change the same
 * profiles (contract §4 "Across runs"): one with an unfinished job, or one with other content and an unknown
 * outcome.
 */
import type { FingerprintColumns } from '../fingerprints/index.js';
import type { Transaction } from './database.js';
import { rowsOfEach } from './rows.js';
import { sameScope } from './scopes.js';
import { isOpen, openSends, othersSince, type Whose } from './send-table.js';
import { IdTable, rowsIn, type SentRows } from './sent-ids.js';

/** Larger than the number of any send. */
const EVER = 0xffff_ffff;

/** Open sends from before this session, or of other processes. */
interface Others {
  /** The sends from which it was read. */
  sends: readonly SentRows[];
  /** For each id: the position of its content in `contents`, counted from 1. */
  places: IdTable;
  /** The content of each id; 0 if every content counts as different from it. */
  contents: BigUint64Array;
}

const isSame = (some: readonly SentRows[], others: readonly SentRows[]): boolean =>
  some.length === others.length &&
  some.every(({ send, job_id }, at) => send === others[at]!.send && job_id === others[at]!.job_id);

/**
 * For one session of one run and kind. Sends of the session share only ids that appear more than once in its
 * inputs.
 */
export class Overlaps {
  /** The number from which sends of the run belong to this session. */
  readonly #first: number;
  /** Open sends of others since then, and the last send that was looked at. */
  #foreign: number[] = [];
  #seen: number;
  /** For each id that appears more than once: its last send in this session, or `EVER`. */
  readonly #own = new Map<bigint, number>();
  #others: Others = { sends: [], places: new IdTable(0), contents: new BigUint64Array() };

  /** @param newest number of the last send before the session */
  constructor(
    private readonly whose: Whose,
    private readonly session: number,
    newest: number,
    private readonly now: () => number,
  ) {
    this.#first = newest + 1;
    this.#seen = newest;
  }

  /** Whether it is that of this session. */
  isOf({ scope, kind, run }: Whose, session: number): boolean {
    const { whose } = this;
    return (
      session === this.session && run === whose.run && kind === whose.kind && sameScope(scope, whose.scope)
    );
  }

  /**
   * Call this in the transaction of an intent.
   * @param send number of the new send
   * @param shared ids that appear more than once in the inputs
   * @returns the fingerprints, with 0 in place of contents that must not be remembered
   */
  async remembered(
    tx: Transaction,
    send: number,
    prints: FingerprintColumns,
    shared: ReadonlySet<bigint>,
  ): Promise<FingerprintColumns> {
    const { places, contents } = await this.#othersNow(tx, send);
    const held = await this.#heldOf(tx, shared);
    // Ids that an unfinished request had at that time are not remembered until the session ends, because it is not
    // known which request the service processed last.
    for (const id of shared) this.#own.set(id, held.has(id) ? EVER : send);
    if (places.size === 0 && held.size === 0) return prints;
    const kept = { ...prints, contents: prints.contents.slice(), records: prints.records.slice() };
    for (const [at, id] of prints.ids.entries()) {
      const place = places.get(id);
      if (!held.has(id) && (place === 0 || contents[place - 1] === prints.contents[at])) continue;
      kept.contents[at] = 0n;
      kept.records[at] = 0n;
    }
    return kept;
  }

  /** Ids that an unfinished request of this session has. */
  async #heldOf(tx: Transaction, shared: ReadonlySet<bigint>): Promise<Set<bigint>> {
    const open = new Map([[EVER, true]]);
    const held = new Set<bigint>();
    for (const id of shared) {
      const send = this.#own.get(id);
      if (send === undefined) continue;
      if (!open.has(send)) open.set(send, await isOpen(tx, send, this.now()));
      if (open.get(send)) held.add(id);
    }
    return held;
  }

  /** Reads the rows of open sends again only if there are others than last time, because that takes long. */
  async #othersNow(tx: Transaction, send: number): Promise<Others> {
    this.#foreign.push(...(await othersSince(tx, this.#seen, this.whose)));
    this.#seen = send;
    const sends = await openSends(tx, this.whose, this.#first, this.#foreign, this.now());
    // A closed send never opens again.
    this.#foreign = sends.map((one) => one.send).filter((one) => one >= this.#first);
    if (isSame(sends, this.#others.sends)) return this.#others;
    const numbers = sends.map(({ send }) => send);
    const places = new IdTable(rowsIn(sends));
    const contents = new BigUint64Array(rowsIn(sends));
    let next = 0;
    for await (const prints of rowsOfEach(tx, numbers)) {
      const { job_id } = sends[next++]!;
      for (const [at, id] of prints.ids.entries()) {
        const content = job_id === null ? prints.contents[at]! : 0n;
        const place = places.get(id);
        if (place === 0) {
          places.set(id, places.size + 1);
          contents[places.size - 1] = content;
        } else if (contents[place - 1] !== content) contents[place - 1] = 0n;
      }
    }
    this.#others = { sends, places, contents };
    return this.#others;
  }
}
