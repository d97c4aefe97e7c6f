/** Where the rows of requests and jobs are. */
import type { Job } from './service/contract.js';

/** Where the rows of a request are: the lines on which the first and the last one begin, from 1; in a JSON array, the numbers of the items. */
export interface FileRange {
  file: string;
  first_line: number;
  last_line: number;
}

/** Where the rows of a request are. A request with rows of several inputs has `ranges`. */
export type Place = FileRange | { ranges: FileRange[] };

/** A job of this run: the service's record, with the files and lines that its rows came from. */
export type RunJob = Job & Place;

/** A request that was sent again because its answer was lost: the service may have taken its rows twice, which an upsert makes safe. */
export type MaybeSentTwice = Place & {
  /** How many rows. */
  rows: number;
  /** Why the first answer was lost. */
  reason: string;
  /** The job of the attempt that was acknowledged; null if none was, or if the answer named no job. */
  job_id: string | null;
};
