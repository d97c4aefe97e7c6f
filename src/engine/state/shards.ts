/**
 * Shards of a run (contract §10): several processes that each send one part of a saved plan. They share the
 * run, and its slots, which limit the unfinished jobs of all shards together. Only PostgreSQL states have
 * shards.
 */
import type { RunStatus, Summary } from '../model.js';
import type { RequestRecord } from './requests.js';
import type { NewRun } from './runs.js';
import type { Made, ShardId } from './types.js';

/** The record of one shard. */
export interface ShardRecord {
  shard: number;
  /** `waiting`: it has not begun. `running`: it is running, or it died. */
  status: RunStatus | 'waiting' | 'running';
  /** Whether nothing is left to do in its part. */
  finished: boolean;
  /** Paths of its rejects files, by input. */
  rejects: (string | null)[];
  /** Summary of its part, from its last session. */
  summary: Summary | null;
  started_at: string | null;
  ended_at: string | null;
}

/** The state of a whole run. */
export interface WholeRun {
  status: RunStatus | 'running';
  /** Number of finished shards. */
  finished: number;
  summary: Summary;
}

export interface ShardStore {
  /** The shards of a run in order; empty if it has none. */
  of(run: string): Promise<ShardRecord[]>;
  /**
   * Records that a shard begins. The first one also records the run and the requests of the plan.
   * @throws UsageError if the run has another number of shards, or applies another plan
   */
  begin(
    id: ShardId,
    run: NewRun,
    plan: { digest: string; requests: readonly RequestRecord[]; made: Made | null },
  ): Promise<void>;
  setRejects(id: ShardId, input: number, file: string): Promise<void>;
  /**
   * Records that the session of a shard ended. The run is finished when all shards are.
   * @param whole makes the summary of the run from all its requests
   */
  end(
    id: ShardId,
    end: { status: RunStatus; finished: boolean; endedBy: string | null; summary: Summary },
    whole: (records: readonly RequestRecord[]) => Summary,
  ): Promise<WholeRun>;
  /**
   * Takes a slot for a request.
   * @param most number of slots of the run
   * @returns whether the request has a slot now; it may have had one before
   */
  takeSlot(id: ShardId, request: number, most: number): Promise<boolean>;
  releaseSlot(id: ShardId, request: number): Promise<void>;
  /** Taken slots of shards that no process has a lock for. */
  deadSlots(run: string): Promise<{ request: number; shard: number }[]>;
}
