/** A request as it is recorded, with its rows. */
import type { FingerprintColumns } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import type { RequestRows } from './history.js';
import type { RequestRecord } from './requests.js';
import type { Scope } from './types.js';

/** Plain data, because another thread may write it. */
export interface Recorded {
  run: string;
  scope: Scope;
  kind: Kind;
  request: RequestRecord;
  /** The rows of an intent. */
  sent: {
    prints: FingerprintColumns;
    shared: ReadonlySet<bigint>;
    rows: RequestRows | null;
    /** How many jobs have ended in this process (`Sends.ends`). */
    ends: number;
  } | null;
}
