/**
 * The rows of every send, by identifier: what is remembered of a request that goes out, and which identifiers other
 * runs have sent or still have under way (contract §4 "Across runs", "A retry never overtakes").
 */
import type { FingerprintColumns } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import type { Fingerprints } from './fingerprints.js';
import type { State } from './interface.js';
import { LaterSends, OpenJobs } from './open-jobs.js';
import { Overlaps } from './overlaps.js';
import { IDENTIFY, SEND, type Sends } from './sends.js';

export class SentRows {
  #overlaps: Overlaps | null = null;

  constructor(
    private readonly sends: Sends,
    private readonly fingerprints: Fingerprints,
  ) {}

  /** A run is continued: what its earlier session sent counts as another's. */
  forgetSession(): void {
    this.#overlaps = null;
  }

  /** A request goes out, maybe not for the first time. What an earlier sending cleared stays cleared. */
  add(
    to: { run: string; scope: number; kind: Kind; request: number },
    rows: FingerprintColumns,
    shared: ReadonlySet<bigint>,
  ): void {
    this.sends.letGo('= ?', to.request);
    if (rows.ids.length === 0) return;
    const overlaps = this.#overlapsOf(to.run, to.scope, to.kind);
    const remembered = overlaps.remembered(rows, shared);
    const send = this.sends.add({ ...to, state: SEND.pending });
    this.fingerprints.append(send, remembered);
    overlaps.sent(send, shared);
  }

  #overlapsOf(run: string, scope: number, kind: Kind): Overlaps {
    const now = this.#overlaps;
    if (now?.run === run && now.scope === scope && now.kind === kind) return now;
    this.#overlaps = new Overlaps(scope, kind, run, this.sends, this.fingerprints);
    return this.#overlaps;
  }

  /** A profile that goes out by itself. Its content is not remembered: it is made another way than an import's. */
  addProfile(scope: number, kind: Kind, ids: BigUint64Array): number {
    const send = this.sends.add({ scope, kind, run: IDENTIFY, request: null, state: SEND.dead });
    this.fingerprints.append(send, {
      ids,
      contents: new BigUint64Array(ids.length),
      records: new BigUint64Array(ids.length),
    });
    this.sends.standAlone(send, { doubt: true, job: null });
    return send;
  }

  /** Identifiers that others sent after this run began. */
  laterThan(run: string, scope: number, kind: Kind): LaterSends {
    return new LaterSends(this.sends.newerThan(run, scope, kind), this.fingerprints);
  }

  /** Identifiers that a run sent itself. `placeOf` gives the order in which its requests count; 0: not at all. */
  byRun(run: string, scope: number, kind: Kind, placeOf: (seq: number) => number): LaterSends {
    const sends = this.sends
      .ofRun(run, scope, kind)
      .map(({ send, seq }) => ({ send, run, place: placeOf(seq) }))
      .filter(({ place }) => place > 0)
      .sort((a, b) => a.place - b.place);
    return new LaterSends(sends, this.fingerprints);
  }

  /** Unfinished jobs of others. `last` is what was found before: it holds until somebody else has sent. */
  openJobs(
    scope: number,
    kind: Kind,
    run: string | null,
    last?: ReturnType<State['openJobs']>,
  ): ReturnType<State['openJobs']> {
    const newest = this.sends.newest(scope, kind);
    if (last && !this.sends.isOthersSince(last.newest, { scope, kind, run })) return { ...last, newest };
    const open = this.sends.withJob(scope, kind).filter((send) => run === null || send.run !== run);
    return { newest, jobs: new OpenJobs(open, this.fingerprints) };
  }
}
