/**
 * Decides what comes next for a request and those that have its rows instead (contract §4 "The rows at fault"). Pure: what
 * became of them so far decides. A request with one part is sent again as it was, which begins a search for rows at fault;
 * one with several parts was divided.
 */
import { CanaryError, Exit, type ServiceError } from '../errors.js';
import { JOB_FAILED, type RequestRecord } from '../model/requests.js';
import { isCompleted, type RunRequests } from '../model/run-requests.js';
import type { SendOptions } from '../options.js';
import { isInDoubt, requestStatus } from '../states.js';
import { count, grouped, sum } from '../util/numbers.js';
import { type DeliverDeps, whereIs } from './request-record.js';

export interface Step {
  /**
   * - `send`: send it, or if it was sent, follow its job to the end.
   * - `repeat`: send the same rows once more, as they were.
   * - `divide`: replace it with two parts.
   * - `reject`: reject its rows: it has one item, and failed.
   * - `leave`: give up its rows, because the budget of requests is used up.
   */
  do: 'send' | 'repeat' | 'divide' | 'reject' | 'leave';
  request: RequestRecord;
  /** The request that failed, if it is a step of a search for rows at fault. */
  source: RequestRecord | null;
}

export interface Rules {
  /** Whether to search for the rows at fault, and how many requests that may take for each failed one, at least 1. */
  isolate: boolean;
  jobs: number;
  /** Whether jobs are followed. */
  wait: boolean;
  /** The most items of a request that was not sent yet. */
  most: number;
}

export const rulesOf = (
  { onFailure, isolateJobs, wait }: Pick<SendOptions, 'onFailure' | 'isolateJobs' | 'wait'>,
  most = Number.POSITIVE_INFINITY,
): Rules => ({ isolate: onFailure === 'isolate', jobs: isolateJobs, wait, most });

/** The search in which a request is: what failed, its repetition, and how many more requests it may send. */
interface Search {
  source: RequestRecord;
  again: RequestRecord;
  left: number;
}

/** @returns null if nothing is left to do */
export function nextStep(root: RequestRecord, requests: RunRequests, rules: Rules): Step | null {
  return within(root, null, false);

  /** @param known whether it must contain a row at fault, because the other half completed */
  function within(r: RequestRecord, search: Search | null, known: boolean): Step | null {
    const parts = requests.partsOf(r);
    const [first, second] = parts;
    if (!first) return last(r, search, known);
    if (!second) {
      const begun = { source: r, again: first, left: rules.jobs - sentIn(r, requests) };
      return within(first, begun, false);
    }
    const isClear = requests.partsOf(first).length === 0 && outcomeOf(first) === 'completed';
    const isAtFault = search !== null && !wasTooLarge(r) && (known || failureOf(r) !== null);
    return within(first, search, false) ?? within(second, search, isAtFault && isClear);
  }

  function last(request: RequestRecord, search: Search | null, known: boolean): Step | null {
    const take = (what: Step['do']): Step => ({ do: what, request, source: search?.source ?? null });
    const isOne = request.rows <= 1;
    switch (outcomeOf(request)) {
      case 'doubt':
        return take('send');
      case 'accepted':
        return rules.isolate && rules.wait ? take('send') : null;
      case 'planned':
        if (rules.isolate && search && search.left <= 0) return take('leave');
        return !isOne && (known || request.rows > rules.most) ? take('divide') : take('send');
      case 'failed': {
        if (!rules.isolate) return null;
        if (!search) return take('repeat');
        const { source, again, left } = search;
        // If the same rows fail differently the second time, the rows are not the cause. Halves may fail in any way.
        if (request === again && !isAlike(source, request)) return null;
        if (isOne) return take('reject');
        return left > 0 ? take('divide') : null;
      }
      default:
        return null;
    }
  }
}

/** Whether it was divided because of its size, so that single rows are not the cause. */
const wasTooLarge = ({ failure }: RequestRecord): boolean => failure?.startsWith('413') === true;

/** Whether a step is the first one of a search for rows at fault. */
export const starts = ({ do: what, request, source }: Step): boolean =>
  what === 'repeat' || (what !== 'send' && source !== null && request.parent === source.seq);

/** Number of requests that were sent in a search. Those of later searches below it do not count. */
function sentIn(source: RequestRecord, requests: RunRequests): number {
  let sent = 0;
  const count = (r: RequestRecord): void => {
    const status = requestStatus(r);
    if (status !== 'planned' && (status !== 'replaced' || wasTooLarge(r))) sent++;
    const parts = requests.partsOf(r);
    if (parts.length > 1) parts.forEach(count);
  };
  requests.partsOf(source).forEach(count);
  return sent;
}

function outcomeOf(r: RequestRecord): 'planned' | 'doubt' | 'accepted' | 'completed' | 'failed' | 'ended' {
  const status = requestStatus(r);
  if (isInDoubt(r)) return 'doubt';
  if (r.state === 'unsent') return 'ended';
  if (status === 'failed' || status === 'refused') return 'failed';
  if (status === 'completed' && r.rows > 0) return 'completed';
  return status === 'planned' || status === 'accepted' ? status : 'ended';
}

/** How a request failed; null if it is not known to have failed. Failures with the same text are alike. */
export function failureOf(r: RequestRecord): string | null {
  return r.failure ?? (requestStatus(r) === 'failed' ? JOB_FAILED : null);
}

/** What ended in another way, such as short, has not failed alike. */
function isAlike(source: RequestRecord, again: RequestRecord): boolean {
  const failure = failureOf(source);
  return failure === null ? source.state !== 'settled' : failure === failureOf(again);
}

/** The failure text of a refusal. Refusals are alike if they have the same status and `error_code`. */
export const failureText = ({ status, errorCode }: ServiceError): string =>
  [status, errorCode].filter(Boolean).join(' ');

/** Whether a refusal is about the content of a request, so that single rows may be at fault. */
export const isAboutRows = (status: number | undefined): boolean => status === 400 || status === 422;

/** If this many requests failed alike and none completed, the service or the mapping is at fault. */
const ALIKE = 3;

/**
 * Whether to search for rows at fault. If not, the service or the mapping is at fault.
 * @param alike number of requests of this session that failed like this one, this one included
 */
export const mayIsolate = (alike: number, requests: RunRequests): boolean =>
  alike < ALIKE || requests.hasCompleted;

/**
 * The canary (contract §3 "Plan, then send", 4) is the first request of a run, which must complete before anything else is
 * sent. The state has no mark for it: until a request has completed, the next one is the canary.
 * @param items value of the option `canary`: its number of items
 */
export const isCanaryDue = (items: number | null | undefined, requests: RunRequests): boolean =>
  items != null && !requests.hasCompleted;

/** Canaries that ended without completing. Their rows are sent again as the new canary. */
export const failedCanaries = (requests: RunRequests): RequestRecord[] =>
  requests.ends.filter((r) => r.rows > 0 && r.state === 'settled' && !isCompleted(r));

/** @throws CanaryError if a canary is due, and one has ended */
export function checkCanary({ run, requests, options, inputs }: DeliverDeps): void {
  const [failed] = isCanaryDue(options.canary, requests) ? failedCanaries(requests) : [];
  if (!failed) return;
  const { job, rows } = failed;
  const isFailed = job?.status === 'failed';
  throw new CanaryError(
    `the canary ${whatBecameOf(failed)} (${whereIs(failed, { inputs })}), so nothing else was sent`,
    isFailed ? Exit.jobFailed : Exit.rejected,
    { problem: { code: 'canary_not_completed', run, failed: isFailed, rows } },
  );
}

function whatBecameOf({ job, rows }: RequestRecord): string {
  if (!job) return 'was accepted, but the reply names no job to follow';
  const { job_id, status, completed_rows } = job;
  if (status === 'failed') return `failed in job ${job_id}`;
  if (status !== 'completed') return `is lost: the service no longer knows job ${job_id}`;
  return `is short: job ${job_id} completed ${completed_rows ?? 0} of ${count(rows, 'row')}`;
}

/** What a search has found: `2 rows at fault, 998 completed, 19 requests`. */
export function foundIn(root: RequestRecord, requests: RunRequests): string {
  const below = (of: RequestRecord): RequestRecord[] =>
    requests.partsOf(of).flatMap((part) => [part, ...below(part)]);
  const parts = below(root);
  const ends = parts.filter((part) => requests.partsOf(part).length === 0);
  const rowsOf = (is: (r: RequestRecord) => boolean): number => sum(ends.filter(is), ({ rows }) => rows);
  const [atFault, completed] = [rowsOf(({ state }) => state === 'rejected'), rowsOf(isCompleted)];
  const open = rowsOf(() => true) - atFault - completed;
  const sent = parts.filter(({ state }) => state !== 'divided');
  return [
    atFault === 0 ? 'no row at fault' : `${count(atFault, 'row')} at fault`,
    `${grouped(completed)} completed`,
    ...(open > 0 ? [`${grouped(open)} not sent again`] : []),
    count(sent.length, 'request'),
  ].join(', ');
}
