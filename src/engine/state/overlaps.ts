/**
 * Finds the rows of a request that must not be remembered, because another send may still change the same
 * profiles (contract §4 "Across runs"): one with an unfinished job, or one with other content and an unknown
 * outcome.
 */
import type { FingerprintColumns } from '../fingerprints/index.js';
import { raw, type Sql, sql, type Transaction } from './database.js';
import { openSends, othersSince, type Whose } from './send-table.js';
import { SentIds } from './sends.js';

/** In place of a send: not known which send the service processed last. */
const EVER = 0;

/** SQL: one of some sends. */
const isOneOf = (sends: Iterable<number>): Sql => raw(`send IN (${[EVER, ...sends].join(', ')})`);

/**
 * For one session of one run and kind. Sends of the session share only ids that appear more than once in its
 * inputs.
 */
export class Overlaps {
  /** The last send that was looked at; at first, the last one before the session. */
  #seen: number;
  /** Open sends from before this session, or of other processes. A closed send never opens again. */
  #others: SentIds | null = null;
  /** For each id that appears more than once: its last send in this session, or `EVER`. */
  readonly #own = new Map<bigint, number>();

  /** @param newest number of the last send before the session */
  constructor(
    private readonly whose: Whose,
    newest: number,
    private readonly now: () => number,
  ) {
    this.#seen = newest;
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
    const others = await this.#othersNow(tx, send);
    const held = await this.#heldOf(tx, shared);
    // Ids that an unfinished request had at that time are not remembered until the session ends, because it is not
    // known which request the service processed last.
    for (const id of shared) this.#own.set(id, held.has(id) ? EVER : send);
    if (others.isEmpty && held.size === 0) return prints;
    const kept = { ...prints, contents: prints.contents.slice(), records: prints.records.slice() };
    for (const [at, id] of prints.ids.entries()) {
      if (!held.has(id) && !others.conflicts(id, prints.contents[at]!)) continue;
      kept.contents[at] = 0n;
      kept.records[at] = 0n;
    }
    return kept;
  }

  /** Ids that an unfinished request of this session has. */
  async #heldOf(tx: Transaction, shared: ReadonlySet<bigint>): Promise<Set<bigint>> {
    const before = [...shared].filter((id) => this.#own.has(id));
    if (before.length === 0) return new Set();
    const sends = new Set(before.map((id) => this.#own.get(id)!));
    const open = await openSends(tx, this.whose, isOneOf(sends), this.now());
    const held = new Set([EVER, ...open.map((one) => one.send)]);
    return new Set(before.filter((id) => held.has(this.#own.get(id)!)));
  }

  /** Reads the rows of open sends again only if there are others than last time, because that takes long. */
  async #othersNow(tx: Transaction, send: number): Promise<SentIds> {
    const before = this.#others;
    const added = before ? await othersSince(tx, this.#seen, this.whose) : [];
    const which = before
      ? isOneOf([...before.sends.map((one) => one.send), ...added])
      : sql`send <= ${this.#seen}`;
    this.#seen = send;
    if (before?.isEmpty && added.length === 0) return before;
    const sends = await openSends(tx, this.whose, which, this.now());
    const isSame = JSON.stringify(sends) === JSON.stringify(before?.sends);
    this.#others = before && isSame ? before : await SentIds.read(tx, sends);
    return this.#others;
  }
}
