/** The faults that are set, and whether one applies to a request or a job. */
import { FAULTS, type Fault, parseFault, type Target, type When } from './fault-spec.js';
import type { SimulatedOutcome } from './timeline.js';

/** The faults of a running sandbox. `profiles help faults` lists them. */
export interface Faults {
  /**
   * Adds a fault, such as `503:first=3`. It counts requests from now on.
   * @throws UsageError for a spec that cannot be parsed
   */
  add(spec: string): void;
  /** The specs of all faults, in the order in which they were added. */
  list(): string[];
  /** Removes the first fault with this spec; false if there is none. */
  remove(spec: string): boolean;
  /** Removes all faults. */
  clear(): void;
}

export interface FaultPlan extends Faults {
  /** Counts a request, and returns the fault that applies to it: of several, the one added first. */
  strike(operation: Exclude<Target, 'any'>): Fault | undefined;
  /** Counts an accepted job of `rows` rows, and returns how it will end. */
  outcome(rows: number): SimulatedOutcome;
  /** Starts counting from one again. */
  restart(): void;
}

/** Whether a fault applies to the `ordinal`th (from 1) of the events that it counts. */
export function strikes(when: When, ordinal: number, seed: number, spec: string): boolean {
  switch (when.type) {
    case 'nth':
      return ordinal === when.n;
    case 'every':
      return ordinal % when.n === 0;
    case 'first':
      return ordinal <= when.n;
    case 'p':
      return chance(seed, spec, ordinal) < when.n;
  }
}

/**
 * @param seed for faults with a probability: the same seed and the same order of requests give the same
 * faults
 * @param failJobs returns the share of jobs that fail; called for each job
 */
export function createFaultPlan(seed: number, failJobs: () => number): FaultPlan {
  let set: { fault: Fault; seen: number }[] = [];
  let jobs = 0;

  /** Every matching fault counts the event, even if an earlier one applies. */
  const struck = (watches: (fault: Fault) => boolean): Fault | undefined => {
    let first: Fault | undefined;
    for (const one of set) {
      if (!watches(one.fault)) continue;
      one.seen++;
      if (strikes(one.fault.when, one.seen, seed, one.fault.spec)) first ??= one.fault;
    }
    return first;
  };

  return {
    add: (spec) => void set.push({ fault: parseFault(spec), seen: 0 }),
    list: () => set.map((one) => one.fault.spec),
    remove: (spec) => {
      const at = set.findIndex((one) => one.fault.spec === spec);
      if (at >= 0) set.splice(at, 1);
      return at >= 0;
    },
    clear: () => {
      set = [];
    },
    restart: () => {
      set = set.map(({ fault }) => ({ fault, seen: 0 }));
      jobs = 0;
    },
    strike: (operation) =>
      struck((fault) => {
        if (FAULTS[fault.kind].ofJob) return false;
        const on = fault.options.on ?? (fault.kind === 'job-404' ? 'job' : 'submit');
        return on === 'any' || on === operation;
      }),
    outcome: (rows) => {
      jobs++;
      const fault = struck((one) => FAULTS[one.kind].ofJob);
      if (fault !== undefined) return outcomeOf(fault, rows);
      return chance(seed, 'fail-jobs', jobs) < failJobs() ? { type: 'failed' } : { type: 'completed' };
    },
  };
}

function outcomeOf({ kind, options }: Fault, rows: number): SimulatedOutcome {
  if (kind === 'stuck-job') return { type: 'stuck', status: options.status ?? 'processing' };
  if (kind === 'unknown-status') return { type: 'detour', status: options.status ?? 'reindexing' };
  if (kind === 'short-job') return { type: 'short', rows: Math.min(rows, options.rows ?? 1) };
  return { type: 'failed' };
}

/** A repeatable random number in [0, 1): the same seed, name, and ordinal always give the same one. */
export function chance(seed: number, name: string, ordinal: number): number {
  let hash = 0x811c9dc5; // FNV-1a
  for (const byte of new TextEncoder().encode(`${seed}\n${name}\n${ordinal}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  // In FNV, the last bytes change too few bits. These are the final steps of MurmurHash3, which mix them.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
