/**
 * Decides the next request in the search for the rows at fault in a failed request (contract §4 "The rows at
 * fault"). Pure: a request and those that sent its rows again form a tree, and the outcomes in the tree
 * decide the next step.
 */
import type { ServiceError } from '../errors.js';
import type { ImportOptions } from '../options.js';
import type { RequestRecord } from '../state/requests.js';
import type { RunRequests } from '../state/run-requests.js';
import { type RequestStatus, requestStatus } from '../states.js';

/** A node of the tree: a request, and below it those that sent its rows again. */
export interface Part {
  seq: number;
  /** Number of items; merged rows count as one. */
  items: number;
  /**
   * - `waiting`: to be sent. `open`: sent, and its end is not known.
   * - `completed`: the service has all its rows. `failed`: none of its rows counts as completed.
   * - `known`: not sent, but known to fail.
   * - `ended`: it ended in another way, such as rejected, short, or given up.
   */
  outcome: 'waiting' | 'open' | 'completed' | 'failed' | 'known' | 'ended';
  /** How it failed. Failures with the same text are alike. Null if it did not fail, or not yet. */
  failure: string | null;
  /** None, one request that sends the same rows again, or two halves. */
  parts: Part[];
}

export type Step =
  /** Send it, or if it was sent, follow its job to the end. */
  | { do: 'send'; part: Part }
  /** Send the same rows once more, as they were. */
  | { do: 'repeat'; part: Part }
  /** Replace it with two halves. */
  | { do: 'divide'; part: Part }
  /** Reject its rows: it has one item, and failed. */
  | { do: 'reject'; part: Part }
  /** Give up its rows, because the budget of requests is used up. */
  | { do: 'leave'; part: Part }
  | { do: 'done' };

/** The failure text for all failed jobs. */
const JOB_FAILED = 'job failed';

/**
 * @param source the request that failed
 * @param rules `isolate`: whether to search for the rows at fault; `jobs`: how many requests that may take, at least 1
 */
export function nextStep(source: Part, rules: { isolate: boolean; jobs: number }): Step {
  const left = rules.jobs - sentBelow(source);
  const [again] = source.parts;
  if (!again) return rules.isolate ? { do: 'repeat', part: source } : { do: 'done' };
  return step(again, false) ?? { do: 'done' };

  /** @param known whether it must contain a row at fault, because the other half completed */
  function step(part: Part, known: boolean): Step | null {
    if (part.parts.length === 1) return null; // it is itself the source of a later search
    if (part.parts.length > 1) {
      const [first, second] = part.parts as [Part, Part];
      const isClear = first.parts.length === 0 && first.outcome === 'completed';
      return step(first, false) ?? step(second, isClear);
    }
    switch (part.outcome) {
      case 'open':
        return { do: 'send', part };
      case 'waiting':
        if (left <= 0) return { do: 'leave', part };
        return { do: known && part.items > 1 ? 'divide' : 'send', part };
      case 'failed': {
        if (!rules.isolate) return null;
        const alike = source.failure === null || part.failure === source.failure;
        // If the same rows fail differently the second time, the rows are not the cause. Halves may fail in
        // any way.
        if (part === again && !alike) return null;
        if (part.items <= 1) return { do: 'reject', part };
        return left > 0 ? { do: 'divide', part } : null;
      }
      default:
        return null;
    }
  }
}

/** Number of requests that were sent in this search. Those of later searches below it do not count. */
function sentBelow(source: Part): number {
  let sent = 0;
  const count = (part: Part): void => {
    if (part.outcome !== 'waiting' && part.outcome !== 'known') sent++;
    if (part.parts.length > 1) part.parts.forEach(count);
  };
  source.parts.forEach(count);
  return sent;
}

/** Whether a step is the first one of a search for rows at fault. */
export const starts = (step: Step, source: Part): boolean =>
  step.do === 'repeat' || (step.do !== 'send' && 'part' in step && step.part === source.parts[0]);

/** How a request failed; null if it is not known to have failed. */
export function failureOf(r: RequestRecord): string | null {
  if (r.failure !== null) return r.failure;
  return r.state === 'settled' && requestStatus(r) === 'failed' ? JOB_FAILED : null;
}

/** The failure text of a refusal. Refusals are alike if they have the same status and `error_code`. */
export const failureText = ({ status, errorCode }: ServiceError): string =>
  [status, errorCode].filter(Boolean).join(' ');

/** Whether a refusal is about the content of a request, so that single rows may be at fault. */
export const isAboutRows = (status: number | undefined): boolean => status === 400 || status === 422;

/** The tree of a request and those that sent its rows again. */
export function partOf(r: RequestRecord, requests: RunRequests): Part {
  return {
    seq: r.seq,
    items: r.rows,
    outcome: outcomeOf(r),
    // A text that equals no failure: another end, such as a short job, is not alike.
    failure: failureOf(r) ?? (r.state === 'settled' ? 'did not fail' : null),
    parts: requests.partsOf(r).map((part) => partOf(part, requests)),
  };
}

const OUTCOMES: Record<RequestStatus, Part['outcome']> = {
  planned: 'waiting',
  sending: 'open',
  unknown: 'open',
  accepted: 'open',
  completed: 'completed',
  short: 'ended',
  failed: 'failed',
  gone: 'ended',
  untraceable: 'ended',
  refused: 'failed',
  rejected: 'ended',
  replaced: 'known',
};

function outcomeOf(r: RequestRecord): Part['outcome'] {
  // A 413 is about the size of the request, so single rows are not the cause.
  const isGivenUp = r.state === 'failed' || r.state === 'unsent' || r.failure?.startsWith('413');
  const outcome = OUTCOMES[requestStatus(r)];
  if (outcome === 'failed' && isGivenUp) return 'ended';
  return outcome === 'completed' && r.rows === 0 ? 'ended' : outcome;
}

/**
 * The requests of a tree at which a search begins, outermost first: those that were sent again as they were.
 * With `isolate`, also the root if it failed and was not sent again yet.
 */
export function sourcesIn(root: RequestRecord, requests: RunRequests, isolate: boolean): RequestRecord[] {
  const below = (of: RequestRecord): RequestRecord[] => {
    const parts = requests.partsOf(of);
    return [...(parts.length === 1 ? [of] : []), ...parts.flatMap(below)];
  };
  const isNew = isolate && requests.partsOf(root).length === 0 && outcomeOf(root) === 'failed';
  return isNew ? [root] : below(root);
}

/** Whether anything is left to do for a failed request. @param root a request without a parent */
export const isOpen = (
  root: RequestRecord,
  requests: RunRequests,
  { onFailure, isolateJobs }: Pick<ImportOptions, 'onFailure' | 'isolateJobs'>,
): boolean => {
  const isolate = onFailure === 'isolate';
  return sourcesIn(root, requests, isolate).some(
    (source) => nextStep(partOf(source, requests), { isolate, jobs: isolateJobs }).do !== 'done',
  );
};

/** If this many requests failed alike and none completed, the service or the mapping is at fault. */
const ALIKE = 3;

/**
 * Whether to search for rows at fault. If not, the service or the mapping is at fault.
 * @param alike number of requests of this session that failed like this one, this one included
 */
export const mayIsolate = (alike: number, requests: RunRequests): boolean =>
  alike < ALIKE || requests.hasCompleted;
