/** Sends the failed requests of a finished run again (contract §1, `resume`). */
import { UNSENT } from '../send/request.js';
import { isShort } from '../service/names.js';
import { type Numbers, nextSeq, type RequestRecord, rangesOf, standing } from '../state/requests.js';

/** Whether it was accepted, but has no job that tells its outcome. */
const isUntraceable = (r: RequestRecord): boolean =>
  r.state === 'settled' && (r.job === null || r.job.status === 'unknown');

const isShortOf = (r: RequestRecord): boolean => r.job !== null && isShort(r.job, r.rows);

/** Requests whose rows the service does not all have, as far as is known. */
export const failedOf = (records: readonly RequestRecord[]): RequestRecord[] =>
  standing(records).filter((r) => {
    if (r.rows === 0) return false;
    if (r.state === 'settled') return r.job?.status === 'failed' || isShortOf(r) || isUntraceable(r);
    return ['rejected', 'refused', 'failed', 'unsent'].includes(r.state);
  });

/** Makes a request for each failed one, which sends the same rows again. */
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
      // The first one may have been carried out.
      possibleDuplicate: isUntraceable(r) ? 'it was accepted, and no job tells what became of it' : null,
    });
  }
  return all.slice(records.length);
}

/** Inputs that need a new rejects file, because the old one has rows that are sent again. */
export const newRejects = (records: readonly RequestRecord[]): Set<number> =>
  new Set(
    failedOf(records)
      .filter((r) => r.state === 'rejected')
      .flatMap(rangesOf)
      .map(({ input }) => input),
  );
