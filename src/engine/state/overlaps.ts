/**
 * What must not be remembered of a request that goes out, since something else may still happen to its ids (contract
 * §4 "Across runs"): ids that an unfinished job holds, and ids whose other content has an unknown outcome.
 */

import type { FingerprintColumns } from '../fingerprint-index.js';
import { IdTable } from '../id-table.js';
import type { Kind } from '../model.js';
import type { Transaction } from './database.js';
import type { Fingerprints } from './fingerprints.js';
import type { OpenSend, Sends } from './sends.js';

/** A number that is no send's. */
const EVER = 0xffff_ffff;

/** The open sends that were there before this session, or come from elsewhere. */
interface Others {
  /** From id to the place of its content, counted from 1. */
  places: IdTable;
  /** 0 where any content counts as another one. */
  contents: BigUint64Array;
}

/** For one session of one run: its own sends share only ids that appear more than once in its input. */
export class Overlaps {
  /** Sends from here on are this session's, where they are of its run. */
  readonly #first: number;
  /** From an id that appears more than once to its last send here, or to `EVER`. */
  readonly #own = new IdTable();
  /** Of the request that goes out now. */
  #held: ReadonlySet<bigint> = new Set();
  #others: Others = { places: new IdTable(), contents: new BigUint64Array() };
  /** Sends of others up to here have been looked at, after so many ends; null before the first look. */
  #seen: { newest: number; ends: number } | null = null;

  /** @param newest number of the last send before the session */
  constructor(
    readonly scope: number,
    readonly kind: Kind,
    readonly run: string,
    newest: number,
    private readonly sends: Sends,
    private readonly fingerprints: Fingerprints,
  ) {
    this.#first = newest + 1;
  }

  /**
   * To be asked in the transaction of an intent.
   * @param send its number
   * @param shared ids that appear more than once in the input
   * @param ends how many jobs of other runs have ended here
   * @returns the prints, without contents where none must be remembered
   */
  async remembered(
    tx: Transaction,
    send: number,
    prints: FingerprintColumns,
    shared: ReadonlySet<bigint>,
    ends: number,
  ): Promise<FingerprintColumns> {
    await this.#look(tx, send, ends);
    this.#held = new Set();
    const { places, contents } = this.#others;
    if (places.size === 0 && this.#own.size === 0) return prints;
    this.#held = await this.#heldOf(tx, shared);
    const kept = { ...prints, contents: prints.contents.slice(), records: prints.records.slice() };
    for (const [at, id] of prints.ids.entries()) {
      const place = places.get(id);
      if (!this.#held.has(id) && (place === 0 || contents[place - 1] === prints.contents[at])) continue;
      kept.contents[at] = 0n;
      kept.records[at] = 0n;
    }
    return kept;
  }

  /** They went out. What was held then counts as held until the session ends: which of them is last nobody tells. */
  sent(send: number, shared: ReadonlySet<bigint>): void {
    for (const id of shared) this.#own.set(id, this.#held.has(id) ? EVER : send);
  }

  /** Those that an earlier request of this session still holds. */
  async #heldOf(tx: Transaction, shared: ReadonlySet<bigint>): Promise<Set<bigint>> {
    const open = new Map([
      [0, false],
      [EVER, true],
    ]);
    const held = new Set<bigint>();
    for (const id of shared) {
      const send = this.#own.get(id);
      if (!open.has(send)) open.set(send, await this.sends.isOpen(tx, send));
      if (open.get(send)) held.add(id);
    }
    return held;
  }

  async #look(tx: Transaction, send: number, ends: number): Promise<void> {
    const seen = this.#seen;
    this.#seen = { newest: send, ends };
    // No send opens but a new one. One that another process has closed counts until the next look.
    if (seen?.ends === ends) {
      if (send === seen.newest + 1) return;
      if (!(await this.sends.isOthersSince(tx, seen.newest, this))) return;
    }
    const others = [
      ...(await this.sends.withJob(tx, this.scope, this.kind)),
      ...(await this.sends.inDoubt(tx, this.scope, this.kind)),
    ].filter(({ send, run }) => run !== this.run || send < this.#first);
    this.#others = await this.#read(tx, others);
  }

  async #read(tx: Transaction, sends: readonly OpenSend[]): Promise<Others> {
    const numbers = sends.map(({ send }) => send);
    const rows = await this.fingerprints.countOf(tx, numbers);
    const places = new IdTable(rows);
    const contents = new BigUint64Array(rows);
    let next = 0;
    for await (const prints of this.fingerprints.ofEach(tx, numbers)) {
      const { job } = sends[next++]!;
      for (const [at, id] of prints.ids.entries()) {
        const content = job === null ? prints.contents[at]! : 0n;
        const place = places.get(id);
        if (place === 0) {
          places.set(id, places.size + 1);
          contents[places.size - 1] = content;
        } else if (contents[place - 1] !== content) contents[place - 1] = 0n;
      }
    }
    return { places, contents };
  }
}
