/**
 * Records the rows of sends, and finds ids that other runs have sent later, or have unfinished jobs for
 * (contract §4 "Across runs", "A retry never overtakes").
 */
import type { FingerprintColumns } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import type { Reader, Transaction } from './database.js';
import type { Fingerprints } from './fingerprints.js';
import type { State } from './interface.js';
import { nextNumber } from './meta.js';
import { LaterSends, OpenJobs } from './open-jobs.js';
import { Overlaps } from './overlaps.js';
import { IDENTIFY, SEND, type Sends } from './sends.js';
import type { Verified } from './verified.js';

export class SentRows {
  #overlaps: Overlaps | null = null;

  constructor(
    private readonly sends: Sends,
    private readonly fingerprints: Fingerprints,
    private readonly verified: Verified,
  ) {}

  /**
   * Begins a new session: all sends so far then count as those of others. Call this when a run continues or a
   * transaction is run again, because what is in memory may then be wrong.
   */
  forgetSession(): void {
    this.#overlaps = null;
  }

  /**
   * Adds a send with the rows of a request. Does nothing if there are none.
   * @param ends see `Overlaps.remembered`
   */
  async add(
    tx: Transaction,
    to: { run: string; scope: number; kind: Kind; request: number },
    rows: FingerprintColumns,
    shared: ReadonlySet<bigint>,
    ends: number,
  ): Promise<void> {
    if (rows.ids.length === 0) return;
    const overlaps = await this.#overlapsOf(tx, to.run, to.scope, to.kind);
    const send = await nextNumber(tx);
    const remembered = await overlaps.remembered(tx, send, rows, shared, ends);
    await this.sends.add(tx, send, { ...to, state: SEND.pending });
    await this.fingerprints.append(tx, send, remembered);
    overlaps.sent(send, shared);
  }

  async #overlapsOf(tx: Transaction, run: string, scope: number, kind: Kind): Promise<Overlaps> {
    const now = this.#overlaps;
    if (now?.run === run && now.scope === scope && now.kind === kind) return now;
    const newest = await this.sends.newest(tx, scope, kind);
    this.#overlaps = new Overlaps(scope, kind, run, newest, this.sends, this.fingerprints);
    return this.#overlaps;
  }

  /**
   * Adds a profile that `identify` sends. Its content is not remembered, because it is not built like that of
   * an import.
   * @returns the number of the send
   */
  async addProfile(tx: Transaction, scope: number, kind: Kind, ids: BigUint64Array): Promise<number> {
    const send = await nextNumber(tx);
    await this.sends.add(tx, send, { scope, kind, run: IDENTIFY, request: null, state: SEND.dead });
    await this.fingerprints.append(tx, send, {
      ids,
      contents: new BigUint64Array(ids.length),
      records: new BigUint64Array(ids.length),
    });
    return send;
  }

  /** See `State.sentLater`. */
  async laterThan(
    on: Reader,
    run: string,
    scope: number,
    kind: Kind,
    last?: Awaited<ReturnType<State['sentLater']>>,
  ): ReturnType<State['sentLater']> {
    const newest = await this.sends.newest(on, scope, kind);
    if (last && !(await this.sends.isOthersSince(on, last.newest, { scope, kind, run }))) {
      return { ...last, newest };
    }
    const sends = await this.sends.newerThan(on, run, scope, kind);
    const verified = await this.verified.since(on, run, scope, kind);
    return { newest, ids: await LaterSends.read(on, sends, this.fingerprints, verified) };
  }

  /** See `State.sentByRun`. */
  async byRun(
    on: Reader,
    run: string,
    scope: number,
    kind: Kind,
    placeOf: (seq: number) => number,
  ): Promise<LaterSends> {
    const sends = (await this.sends.ofRun(on, run, scope, kind))
      .map(({ send, seq }) => ({ send, run, place: placeOf(seq) }))
      .filter(({ place }) => place > 0)
      .sort((a, b) => a.place - b.place);
    return LaterSends.read(on, sends, this.fingerprints);
  }

  /** See `State.openJobs`. */
  async openJobs(
    on: Reader,
    scope: number,
    kind: Kind,
    run: string | null,
    last?: Awaited<ReturnType<State['openJobs']>>,
  ): ReturnType<State['openJobs']> {
    const newest = await this.sends.newest(on, scope, kind);
    const isSame = last && !(await this.sends.isOthersSince(on, last.newest, { scope, kind, run }));
    if (isSame) return { ...last, newest };
    const open = (await this.sends.withJob(on, scope, kind)).filter(
      (send) => run === null || send.run !== run,
    );
    return { newest, jobs: await OpenJobs.read(on, open, this.fingerprints) };
  }
}
