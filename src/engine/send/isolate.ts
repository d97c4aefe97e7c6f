/**
 * Decides which request comes next for the rows of one that failed (contract §4 "The rows at fault"). Pure: a request
 * and those that sent its rows again form a tree, and the outcome of each node decides the next step.
 */
import type { ServiceError } from '../errors.js';
import { isShort } from '../service/names.js';
import type { RequestRecord } from '../state/requests.js';

/** A request, and below it those that sent its rows again. */
export interface Part {
  seq: number;
  /** Number of items; merged rows count as one. */
  items: number;
  /**
   * - `waiting`: to be sent. `open`: sent, and not known to have ended.
   * - `completed`: all its rows are with the service. `failed`: none of them counts as such.
   * - `known`: not sent, but known to fail.
   * - `ended`: in another way, such as rejected, short or given up.
   */
  outcome: 'waiting' | 'open' | 'completed' | 'failed' | 'known' | 'ended';
  /** How it failed: failures with the same text are alike. Null if it did not fail. */
  failure: string | null;
  /** Empty; or one request that sends the same rows again; or two halves. */
  parts: Part[];
}

export type Step =
  /** Send it, or follow it to its end. */
  | { do: 'send'; part: Part }
  /** Send the same rows once more, as they were. */
  | { do: 'repeat'; part: Part }
  | { do: 'divide'; part: Part }
  /** It has one item, and failed by itself. */
  | { do: 'reject'; part: Part }
  /** Its rows are given up. */
  | { do: 'leave'; part: Part }
  | { do: 'done' };

/** The failure text of every failed job. */
const JOB_FAILED = 'job failed';

/**
 * @param source the request that failed
 * @param rules whether to search for the rows at fault, and how many requests that may take
 */
export function nextStep(source: Part, rules: { isolate: boolean; jobs: number }): Step {
  const left = rules.jobs - sentBelow(source);
  const [again] = source.parts;
  if (!again) return rules.isolate && left > 0 ? { do: 'repeat', part: source } : { do: 'done' };
  return step(again, false) ?? { do: 'done' };

  /** @param known whether it must contain a row at fault, because the other half completed */
  function step(part: Part, known: boolean): Step | null {
    if (part.parts.length === 1) return null; // the source of a later attempt
    if (part.parts.length > 1) {
      const [first, second] = part.parts as [Part, Part];
      const isClear = first.parts.length === 0 && first.outcome === 'completed';
      return step(first, false) ?? step(second, isClear);
    }
    switch (part.outcome) {
      case 'open':
        return { do: 'send', part };
      case 'waiting':
        if (part !== again && left <= 0) return { do: 'leave', part };
        return { do: known && part.items > 1 ? 'divide' : 'send', part };
      case 'failed': {
        if (!rules.isolate) return null;
        const alike = source.failure === null || part.failure === source.failure;
        // If the same rows fail differently the second time, the rows are not the cause. Below that, halves may fail
        // in any way.
        if (part === again && !alike) return null;
        if (part.items <= 1) return { do: 'reject', part };
        return left > 0 ? { do: 'divide', part } : null;
      }
      default:
        return null;
    }
  }
}

/** Requests that were sent for the rows of one, except for those of later attempts. */
function sentBelow(source: Part): number {
  let sent = 0;
  const count = (part: Part): void => {
    if (part.outcome !== 'waiting' && part.outcome !== 'known') sent++;
    if (part.parts.length > 1) part.parts.forEach(count);
  };
  source.parts.forEach(count);
  return sent;
}

/** Whether a step begins a search. */
export const starts = (step: Step, source: Part): boolean =>
  step.do === 'repeat' || (step.do !== 'send' && 'part' in step && step.part === source.parts[0]);

/** How a request failed; null if it did not, or is not known to have. */
export function failureOf(r: RequestRecord): string | null {
  if (r.failure !== null) return r.failure;
  return r.state === 'settled' && r.job?.status === 'failed' ? JOB_FAILED : null;
}

/** Two refusals are alike when the service gives both the same status and code. */
export const failureText = ({ status, errorCode }: ServiceError): string =>
  [status, errorCode].filter(Boolean).join(' ');

/** Whether a refusal is about the content of a request, so that rows may be at fault. */
export const isAboutRows = (status: number | undefined): boolean => status === 400 || status === 422;

/** The tree of a request and those that sent its rows again. */
export function partOf(r: RequestRecord, records: readonly RequestRecord[]): Part {
  const children = new Map<number, RequestRecord[]>();
  for (const child of records) {
    if (child.parent !== null) children.set(child.parent, [...(children.get(child.parent) ?? []), child]);
  }
  const grow = (of: RequestRecord): Part => ({
    seq: of.seq,
    items: of.rows,
    outcome: outcomeOf(of),
    // Another end, such as a short job, is not the same failure.
    failure: failureOf(of) ?? (of.state === 'settled' ? 'did not fail' : null),
    parts: (children.get(of.seq) ?? []).map(grow),
  });
  return grow(r);
}

/** All its rows are with the service. */
export const isCompleted = (r: RequestRecord): boolean => outcomeOf(r) === 'completed';

function outcomeOf(r: RequestRecord): Part['outcome'] {
  switch (r.state) {
    case 'waiting':
    case 'withdrawn':
      return 'waiting';
    case 'intent':
    case 'unknown':
    case 'acknowledged':
      return 'open';
    case 'divided':
      return 'known';
    case 'refused':
      // "Too large" is about the request as a whole: single rows are not the cause.
      return r.failure?.startsWith('413') ? 'ended' : 'failed';
    case 'settled':
      if (r.job?.status === 'failed') return 'failed';
      return r.rows > 0 && r.job?.status === 'completed' && !isShort(r.job, r.rows) ? 'completed' : 'ended';
    default:
      return 'ended';
  }
}

/**
 * The requests of a tree that were sent again, outermost first: each has one part with the same rows. With `isolate`,
 * also a failed one that was not sent again yet.
 */
export function sourcesIn(
  root: RequestRecord,
  records: readonly RequestRecord[],
  isolate: boolean,
): RequestRecord[] {
  const bySeq = new Map(records.map((r) => [r.seq, r]));
  const found: RequestRecord[] = [];
  const visit = (part: Part): void => {
    const isNew = isolate && part.seq === root.seq && part.parts.length === 0 && part.outcome === 'failed';
    if (part.parts.length === 1 || isNew) found.push(bySeq.get(part.seq)!);
    part.parts.forEach(visit);
  };
  visit(partOf(root, records));
  return found;
}

/** Whether anything is left to do for a failed request, which is not itself a repetition. */
export const isOpen = (
  root: RequestRecord,
  records: readonly RequestRecord[],
  { isolate, isolateJobs }: { isolate: boolean; isolateJobs: number },
): boolean =>
  sourcesIn(root, records, isolate).some(
    (source) => nextStep(partOf(source, records), { isolate, jobs: isolateJobs }).do !== 'done',
  );

/** If this many requests failed alike and none completed, single rows are not the cause. */
const ALIKE = 3;

/**
 * Whether to search for rows at fault: not if the service or the mapping is at fault.
 * @param alike requests that failed like this one since the session began, this one included
 * @param records of the run
 */
export const mayIsolate = (alike: number, records: readonly RequestRecord[]): boolean =>
  alike < ALIKE || records.some(isCompleted);
