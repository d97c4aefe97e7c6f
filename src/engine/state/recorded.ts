/** The data of one `State.record` call. */
import type { FingerprintColumns } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import type { RequestRows } from './history.js';
import type { RequestRecord } from './requests.js';
import type { Scope } from './types.js';

/** Only plain data, because it may be sent to another thread. */
export interface Recorded {
  run: string;
  scope: Scope;
  kind: Kind;
  request: RequestRecord;
  /** The rows of an intent; null for other changes. */
  sent: {
    prints: FingerprintColumns;
    shared: ReadonlySet<bigint>;
    rows: RequestRows | null;
    /** How many jobs have ended in this process (`Sends.ends`). */
    ends: number;
  } | null;
}
