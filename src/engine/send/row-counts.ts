/** Asks what became of a request, and describes where its rows are. Pure. */
import { type FileRange, type Place, type RunJob, rangesIn } from '../model.js';
import type { Job } from '../service/contract.js';
import { type RequestRecord, rangesOf } from '../state/requests.js';
import { isAcknowledged, isClosed as isClosedStatus, requestStatus } from '../states.js';
import { lineRange } from '../util/numbers.js';

/** Whether the service accepted it: a complete 2xx reply was read. */
export const isAccepted = (r: RequestRecord): boolean =>
  isAcknowledged(requestStatus(r)) && r.state !== 'failed';

/**
 * Whether a resume has nothing left to do for its rows. Only then its unchanged and merged rows are counted.
 */
export const isClosed = (r: RequestRecord): boolean => isClosedStatus(requestStatus(r));

/** Where the rows of a request are. @param paths of the run's inputs */
export function placeOf(r: RequestRecord, paths: readonly string[]): Place {
  const ranges = rangesOf(r)
    .filter(({ first_line }, index) => index === 0 || first_line > 0)
    .map(({ input, first_line, last_line }) => ({ file: paths[input]!, first_line, last_line }));
  if (ranges.length > 1 && ranges[0]!.first_line === 0) ranges.shift();
  return ranges.length === 1 ? ranges[0]! : { ranges };
}

/** `a.csv, lines 2 to 16`; if there are several files, the first and the last one. */
export function placeText(place: Place): string {
  const text = ({ file, first_line, last_line }: FileRange): string =>
    `${file}, ${lineRange(first_line, last_line)}`;
  const ranges = rangesIn(place);
  const ends = ranges.length > 1 ? [ranges[0]!, ranges.at(-1)!] : ranges;
  return ends.map(text).join(ranges.length > 2 ? ' … ' : ' and ');
}

/** A count that no job can have: more rows than it was sent, or fewer than none. */
export const isImpossible = ({ completed_rows: done, total_rows }: Job, rows: number): boolean =>
  done != null && (done < 0 || done > (total_rows ?? rows));

/** A job and where its rows are. If the record of the service has a field `file`, that value is kept. */
export function runJob(seen: Job, r: RequestRecord, paths: readonly string[]): RunJob {
  const place = placeOf(r, paths);
  const most = seen.total_rows ?? r.rows;
  const job = isImpossible(seen, r.rows)
    ? { ...seen, completed_rows: Math.min(most, Math.max(0, seen.completed_rows!)) }
    : seen;
  return 'first_line' in place
    ? { file: place.file, ...job, first_line: place.first_line, last_line: place.last_line }
    : { ...job, ...place };
}

export function sum<T>(values: readonly T[], of: (value: T) => number): number {
  let total = 0;
  for (const value of values) total += of(value);
  return total;
}
