/** A request as it is recorded, with its rows. */
import type { FingerprintColumns } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import type { RequestRows } from './history.js';
import type { RequestRecord } from './requests.js';
import type { Scope } from './types.js';

/** Plain data: it may be written by another thread. */
export interface Recorded {
  run: string;
  scope: Scope;
  kind: Kind;
  request: RequestRecord;
  /** What goes out with an intent. */
  sent: {
    prints: FingerprintColumns;
    shared: ReadonlySet<bigint>;
    rows: RequestRows | null;
    /** How many jobs of other runs have ended here (`Sends.endsOfOthers`). */
    ends: number;
  } | null;
}
