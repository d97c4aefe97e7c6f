/**
 * Finds the failed requests of a run, and makes the requests that send their rows again (contract §1,
 * `resume`).
 */
import { UNSENT } from '../send/request.js';
import { nextSeq, notReplaced, type RequestRecord, rangesOf } from '../state/requests.js';
import { REQUESTS, requestStatus } from '../states.js';

/** Requests with rows that, as far as is known, the service does not have. */
export const failedOf = (records: readonly RequestRecord[]): RequestRecord[] =>
  notReplaced(records).filter((r) => r.rows > 0 && REQUESTS[requestStatus(r)].again === 'retry');

/** Makes a request for each failed one, to send the same rows again. Does not add them to `records`. */
export function retriesOf(
  records: readonly RequestRecord[],
  failed: readonly RequestRecord[] = failedOf(records),
): RequestRecord[] {
  const all = [...records];
  for (const r of failed) {
    all.push({
      ...r,
      ...UNSENT,
      seq: nextSeq(all),
      parent: r.seq,
      state: 'waiting',
      digest: '',
    });
  }
  return all.slice(records.length);
}

/** Indexes of inputs that need a new rejects file, because rows in the old one are sent again. */
export const newRejects = (records: readonly RequestRecord[]): Set<number> =>
  new Set(
    failedOf(records)
      .filter((r) => r.state === 'rejected')
      .flatMap(rangesOf)
      .map(({ input }) => input),
  );
