/** Which faults are set, and whether one strikes now. */
import { type Fault, isJobFault, parseFault, type Target, type When } from './fault-spec.js';
import type { SimulatedOutcome } from './timeline.js';

/** The faults of a running sandbox. `profiles sandbox --help` lists them. */
export interface Faults {
  /**
   * Adds a fault, such as `503:first=3`. It counts requests from now.
   * @throws UsageError for a spec that cannot be read
   */
  add(spec: string): void;
  /** The faults that are set, as they were written, in order. */
  list(): string[];
  /** Removes the first fault that is written like this; false if there is none. */
  remove(spec: string): boolean;
  /** Removes all of them. */
  clear(): void;
}

export interface FaultPlan extends Faults {
  /** Counts a request; returns the fault that strikes it: the first that was added. */
  strike(operation: Exclude<Target, 'any'>): Fault | undefined;
  /** Counts an accepted job of `rows` rows; returns how it will end. */
  outcome(rows: number): SimulatedOutcome;
  /** Counts from one again. */
  restart(): void;
}

/** Whether a fault strikes the `ordinal`th (from 1) of the events that it watches. */
export function strikes(when: When, ordinal: number, seed: number, spec: string): boolean {
  switch (when.type) {
    case 'nth':
      return ordinal === when.n;
    case 'every':
      return ordinal % when.n === 0;
    case 'first':
      return ordinal <= when.n;
    case 'p':
      return chance(seed, spec, ordinal) < when.p;
  }
}

/**
 * @param seed decides about probabilities: the same seed and the same order of requests give the same faults
 * @param failJobs share of jobs that fail, asked for each job
 */
export function createFaultPlan(seed: number, failJobs: () => number): FaultPlan {
  let set: { fault: Fault; seen: number }[] = [];
  let jobs = 0;

  /** Every fault that watches the event counts it, also when an earlier one strikes. */
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
        if (isJobFault(fault.kind)) return false;
        const on = fault.options.on ?? (fault.kind === 'job-404' ? 'job' : 'submit');
        return on === 'any' || on === operation;
      }),
    outcome: (rows) => {
      jobs++;
      const fault = struck((one) => isJobFault(one.kind));
      if (fault !== undefined) return outcomeOf(fault, rows);
      return chance(seed, 'fail-jobs', jobs) < failJobs() ? { type: 'failed' } : { type: 'completed' };
    },
  };
}

function outcomeOf({ kind, options }: Fault, rows: number): SimulatedOutcome {
  if (kind === 'stuck-job') return { type: 'stuck', status: options.state ?? 'processing' };
  if (kind === 'unknown-status') return { type: 'detour', status: options.state ?? 'reindexing' };
  if (kind === 'short-job') return { type: 'short', rows: Math.min(rows, options.rows ?? 1) };
  return { type: 'failed' };
}

/** Chance that can be repeated: the same seed, name and ordinal always give the same number, in [0, 1). */
export function chance(seed: number, name: string, ordinal: number): number {
  let hash = 0x811c9dc5; // FNV-1a
  for (const byte of new TextEncoder().encode(`${seed}\n${name}\n${ordinal}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  // FNV's last bytes reach too few bits; these are the finishing steps of MurmurHash3.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
