/** Types for where the rows of requests and jobs are. */
import type { Job } from '../service/contract.js';

/**
 * A range of rows in a file: the lines on which the first and the last row begin, from 1; in a JSON array,
 * the numbers of the items.
 */
export interface FileRange {
  file: string;
  first_line: number;
  last_line: number;
}

/** Where the rows of a request are. A request with rows of several inputs has `ranges`. */
export type Place = FileRange | { ranges: FileRange[] };

/** A job of this run: the record of the service, with the files and lines of its rows. */
export type RunJob = Job & Place;

/**
 * A request that was sent again because its outcome was unknown. The service may have processed its rows twice,
 * which is safe because they are upserts.
 */
export type MaybeSentTwice = Place & {
  /** Number of rows. */
  rows: number;
  /** Why the outcome of the first attempt was unknown. */
  reason: string;
  /** The job of the attempt that was acknowledged; null if none was, or if the answer named no job. */
  job_id: string | null;
};
