/**
 * Finds the failed requests of a run, and makes the requests that send their rows again (contract §1,
 * `resume`).
 */
import { UNSENT } from '../send/request.js';
import type { RequestRecord } from '../state/requests.js';
import type { RunRequests } from '../state/run-requests.js';
import { REQUESTS, requestStatus } from '../states.js';

/** Requests with rows that, as far as is known, the service does not have. */
export const failedOf = ({ ends }: RunRequests): RequestRecord[] =>
  ends.filter((r) => r.rows > 0 && REQUESTS[requestStatus(r)].again === 'retry');

/** Makes a request for each failed one, to send the same rows again. Does not add them to `requests`. */
export const retriesOf = (requests: RunRequests, failed: readonly RequestRecord[]): RequestRecord[] =>
  failed.map((r, at) => ({
    ...r,
    ...UNSENT,
    seq: requests.next + at,
    parent: r.seq,
    state: 'waiting',
    digest: '',
  }));
