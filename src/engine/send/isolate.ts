/**
 * Which request comes next for the rows of one that failed (contract §4 "The rows at fault"). Pure: a request and what
 * has been sent of its rows since is a tree, and the next step follows from what became of each of its parts.
 */
import type { ServiceError } from '../errors.js';
import { isShort } from '../service/names.js';
import type { RequestRecord } from '../state/requests.js';

/** A request, and those that sent its rows again. */
export interface Part {
  seq: number;
  /** Items, merged rows being one. */
  items: number;
  /**
   * - `waiting`: to be sent. `open`: sent, and not known to have ended.
   * - `completed`: all its rows are with the service. `failed`: none of them counts as such.
   * - `known`: not sent, but known to fail.
   * - `ended`: in another way, such as rejected, short or given up.
   */
  outcome: 'waiting' | 'open' | 'completed' | 'failed' | 'known' | 'ended';
  /** How it failed: two failures of the same text are alike. */
  failure: string | null;
  /** None; or one that sends the same rows again; or two halves. */
  parts: Part[];
}

export type Step =
  /** Send it, or see to its end. */
  | { do: 'send'; part: Part }
  /** Send the same rows once more, as they were. */
  | { do: 'repeat'; part: Part }
  | { do: 'divide'; part: Part }
  /** It has one item, and failed by itself. */
  | { do: 'reject'; part: Part }
  /** Its rows are given up. */
  | { do: 'leave'; part: Part }
  | { do: 'done' };

/** How a failed job compares. */
const JOB_FAILED = 'job failed';

/**
 * @param source the request that failed
 * @param rules whether to search for the rows at fault, and the requests that may be spent on that
 */
export function nextStep(source: Part, rules: { isolate: boolean; jobs: number }): Step {
  const left = rules.jobs - sentBelow(source);
  const [again] = source.parts;
  if (!again) return rules.isolate && left > 0 ? { do: 'repeat', part: source } : { do: 'done' };
  return step(again, false) ?? { do: 'done' };

  /** @param known what is in it fails, since what was sent beside it did not */
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
        // Where the same rows fail in another way, it is not the rows; what has been divided once fails as it likes.
        if (part === again && !alike) return null;
        if (part.items <= 1) return { do: 'reject', part };
        return left > 0 ? { do: 'divide', part } : null;
      }
      default:
        return null;
    }
  }
}

/** Requests that went out for the rows of one, but for those of later attempts. */
function sentBelow(source: Part): number {
  let sent = 0;
  const count = (part: Part): void => {
    if (part.outcome !== 'waiting' && part.outcome !== 'known') sent++;
    if (part.parts.length > 1) part.parts.forEach(count);
  };
  source.parts.forEach(count);
  return sent;
}

/** Whether a step is the first of a search, rather than one within it. */
export const starts = (step: Step, source: Part): boolean =>
  step.do === 'repeat' || (step.do !== 'send' && 'part' in step && step.part === source.parts[0]);

/** How a request failed; null where it did not, or is not known to have. */
export function failureOf(r: RequestRecord): string | null {
  if (r.failure !== null) return r.failure;
  return r.state === 'settled' && r.job?.status === 'failed' ? JOB_FAILED : null;
}

/** Two refusals are alike when the service gives both the same status and code. */
export const failureText = ({ status, errorCode }: ServiceError): string =>
  [status, errorCode].filter(Boolean).join(' ');

/** A refusal of what is in a request, which leads to the rows at fault. */
export const isAboutRows = (status: number | undefined): boolean => status === 400 || status === 422;

/** A request as it stands, with what was made of it. */
export function partOf(r: RequestRecord, records: readonly RequestRecord[]): Part {
  const children = new Map<number, RequestRecord[]>();
  for (const child of records) {
    if (child.parent !== null) children.set(child.parent, [...(children.get(child.parent) ?? []), child]);
  }
  const grow = (of: RequestRecord): Part => ({
    seq: of.seq,
    items: of.rows,
    outcome: outcomeOf(of),
    // What ended in another way, such as short, does not fail alike.
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
 * The requests of a tree that were sent again, outermost first: each has one part with the same rows. With `isolate`, so
 * is one that failed and was not sent again yet.
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

/** Whether anything is left to do for a request of the input's rows that failed. */
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
