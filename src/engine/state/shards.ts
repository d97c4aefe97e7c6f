/**
 * Shards of a run (contract §10): several processes that each send one part of a saved plan. They share the run and
 * its slots, which limit the unfinished jobs of the account. Only for states with a lock for each shard.
 */
import type { RunStatus, Summary } from '../model.js';
import type { RequestRecord } from './requests.js';
import type { NewRun } from './runs.js';
import type { Made, ShardOf } from './types.js';

/** The state of a shard. */
export interface ShardRecord {
  shard: number;
  /** `waiting`: it has not begun. `running`: it is running, or it died. */
  status: RunStatus | 'waiting' | 'running';
  /** Whether nothing is left to do in its part. */
  finished: boolean;
  /** Its rejects files, by input. */
  rejects: (string | null)[];
  /** Summary of its part. */
  summary: Summary | null;
  started_at: string | null;
  ended_at: string | null;
}

/** The state of a run as a whole. */
export interface Standing {
  status: RunStatus | 'running';
  /** How many shards are finished. */
  finished: number;
  summary: Summary;
}

export interface ShardStore {
  /** The shards of a run in order; empty if it has none. */
  of(run: string): Promise<ShardRecord[]>;
  /**
   * Records that a shard begins; the first one also begins the run.
   * @throws UsageError if the run has another number of shards, or applies another plan
   */
  begin(
    of: ShardOf,
    run: NewRun,
    plan: { digest: string; requests: readonly RequestRecord[]; made: Made | null },
  ): Promise<void>;
  setRejects(of: ShardOf, input: number, file: string): Promise<void>;
  /**
   * Records that a shard ends. The run is finished when all shards are.
   * @param whole summary of all requests of the run
   */
  end(
    of: ShardOf,
    end: { status: RunStatus; finished: boolean; endedBy: string | null; summary: Summary },
    whole: (records: readonly RequestRecord[]) => Summary,
  ): Promise<Standing>;
  /**
   * Takes a slot for a request, unless all are taken; true if the request already has one. @param most slots of the
   * run
   */
  takeSlot(of: ShardOf, request: number, most: number): Promise<boolean>;
  releaseSlot(of: ShardOf, request: number): Promise<void>;
  /** Slots of shards without a process. */
  deadSlots(run: string): Promise<{ request: number; shard: number }[]>;
}
