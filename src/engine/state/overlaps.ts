/**
 * Finds the rows of a request that must not be remembered, because another send may still change the same
 * profiles (contract §4 "Across runs"): one with an unfinished job, or one with other content and an unknown
 * outcome.
 */

import type { FingerprintColumns } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import type { Transaction } from './database.js';
import { IdTable } from './id-table.js';
import { type OpenSend, rowsIn } from './open-jobs.js';
import { rowsOfEach } from './rows.js';
import { isOpen, isOthersSince, openSends } from './sends.js';

/** Larger than the number of any send. */
const EVER = 0xffff_ffff;

/** Open sends from before this session, or of other processes. */
interface Others {
  /** For each id: the position of its content in `contents`, counted from 1. */
  places: IdTable;
  /** The content of each id; 0 if every content counts as different from it. */
  contents: BigUint64Array;
}

const isSame = (some: readonly OpenSend[], others: readonly OpenSend[]): boolean =>
  some.length === others.length &&
  some.every(({ send, job }, at) => send === others[at]!.send && job === others[at]!.job);

/**
 * For one session of one run and kind. Sends of the session share only ids that appear more than once in its
 * inputs.
 */
export class Overlaps {
  /** The number from which sends of the run belong to this session. */
  readonly #first: number;
  /** For each id that appears more than once: its last send in this session, or `EVER`. */
  readonly #own = new IdTable();
  /** Shared ids of the current request that an unfinished request of this session has, too. */
  #held: ReadonlySet<bigint> = new Set();
  #others: Others = { places: new IdTable(), contents: new BigUint64Array() };
  /** The sends from which `#others` was read. */
  #open: readonly OpenSend[] = [];
  /**
   * The last send, and the number of ended jobs, when `#others` was last up to date; null before the first
   * time.
   */
  #seen: { newest: number; ends: number } | null = null;

  /** @param newest number of the last send before the session */
  constructor(
    readonly scope: number,
    readonly kind: Kind,
    readonly run: string,
    newest: number,
    private readonly now: () => number,
  ) {
    this.#first = newest + 1;
  }

  /**
   * Call this in the transaction of an intent.
   * @param send number of the new send
   * @param shared ids that appear more than once in the inputs
   * @param ends how many jobs have ended in this process (`Access.ends`)
   * @returns the fingerprints, with 0 in place of contents that must not be remembered
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

  /**
   * Call this after the send was recorded. Ids that an unfinished request had at that time are not remembered
   * until the session ends, because it is not known which request the service processed last.
   */
  sent(send: number, shared: ReadonlySet<bigint>): void {
    for (const id of shared) this.#own.set(id, this.#held.has(id) ? EVER : send);
  }

  /** Ids that an unfinished request of this session has. */
  async #heldOf(tx: Transaction, shared: ReadonlySet<bigint>): Promise<Set<bigint>> {
    const open = new Map([
      [0, false],
      [EVER, true],
    ]);
    const held = new Set<bigint>();
    for (const id of shared) {
      const send = this.#own.get(id);
      if (!open.has(send)) open.set(send, await isOpen(tx, send, this.now()));
      if (open.get(send)) held.add(id);
    }
    return held;
  }

  async #look(tx: Transaction, send: number, ends: number): Promise<void> {
    const seen = this.#seen;
    this.#seen = { newest: send, ends };
    // A closed send never opens again. So if nothing was open, or no job has ended, only new sends of others
    // matter. A send that another process closes is noticed at the next read, which is soon enough.
    if (seen && (seen.ends === ends || this.#open.length === 0)) {
      if (send === seen.newest + 1) return;
      if (!(await isOthersSince(tx, seen.newest, this))) return;
    }
    const open = (await openSends(tx, this.scope, this.kind, this.now())).filter(
      ({ send, run }) => run !== this.run || send < this.#first,
    );
    // Most jobs that ended are those of this session, and reading rows takes long.
    if (isSame(open, this.#open)) return;
    this.#others = await this.#read(tx, open);
    this.#open = open;
  }

  async #read(tx: Transaction, sends: readonly OpenSend[]): Promise<Others> {
    const numbers = sends.map(({ send }) => send);
    const rows = rowsIn(sends);
    const places = new IdTable(rows);
    const contents = new BigUint64Array(rows);
    let next = 0;
    for await (const prints of rowsOfEach(tx, numbers)) {
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
