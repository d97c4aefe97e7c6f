/** A finished run whose failed requests are sent again (contract §1, `resume`). */
import { UNSENT } from '../send/request.js';
import { isShort } from '../service/names.js';
import { type Numbers, nextSeq, type RequestRecord, rangesOf, standing } from '../state/requests.js';

/** Accepted, and there is no job to tell what became of it. */
const isUntraceable = (r: RequestRecord): boolean =>
  r.state === 'settled' && (r.job === null || r.job.status === 'unknown');

const isShortOf = (r: RequestRecord): boolean => r.job !== null && isShort(r.job, r.rows);

/** Requests whose rows are not all with the service, as far as it is known. */
export const failedOf = (records: readonly RequestRecord[]): RequestRecord[] =>
  standing(records).filter((r) => {
    if (r.rows === 0) return false;
    if (r.state === 'settled') return r.job?.status === 'failed' || isShortOf(r) || isUntraceable(r);
    return ['rejected', 'refused', 'failed', 'unsent'].includes(r.state);
  });

/** A request for each of those that failed, which sends the same rows again. */
export function retriesOf(
  records: readonly RequestRecord[],
  failed: readonly RequestRecord[] = failedOf(records),
  numbers?: Numbers,
): RequestRecord[] {
  const all = [...records];
  for (const r of failed) {
    all.push({
      ...r,
      ...UNSENT,
      seq: nextSeq(all, numbers),
      parent: r.seq,
      state: 'waiting',
      left_out: 0,
      left_out_by: null,
      digest: '',
      // It may have been carried out: then this is the second time.
      possibleDuplicate: isUntraceable(r) ? 'it was accepted, and no job tells what became of it' : null,
    });
  }
  return all.slice(records.length);
}

/** Inputs whose rejects file would still name rows that are sent again: they get a new one. */
export const newRejects = (records: readonly RequestRecord[]): Set<number> =>
  new Set(
    failedOf(records)
      .filter((r) => r.state === 'rejected')
      .flatMap(rangesOf)
      .map(({ input }) => input),
  );
