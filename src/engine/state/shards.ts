/**
 * Shards of a run (contract §10): several processes that each send one part of a saved plan. They share the run, and its
 * slots: so many jobs may be unfinished at the account. Only in a state that has a lock for each shard.
 */
import type { RunStatus, Summary } from '../model.js';
import type { RequestRecord } from './requests.js';
import type { NewRun } from './runs.js';
import type { ShardOf } from './types.js';

/** A shard as it stands. */
export interface ShardRecord {
  shard: number;
  /** `waiting`: it has not begun. `running`: it is running now, or it died. */
  status: RunStatus | 'waiting' | 'running';
  /** Nothing of its part is left to do. */
  finished: boolean;
  /** Its rejects files, by input. */
  rejects: (string | null)[];
  /** About its part. */
  summary: Summary | null;
  started_at: string | null;
  ended_at: string | null;
}

/** What a run stands at as a whole. */
export interface Standing {
  status: RunStatus | 'running';
  /** Shards that are finished. */
  finished: number;
  summary: Summary;
}

export interface ShardStore {
  /** Those of a run, in order; none where it has none. */
  of(run: string): Promise<ShardRecord[]>;
  /**
   * A shard begins, and with the first one its run.
   * @throws UsageError where the run has another number of shards, or carries out another plan
   */
  begin(
    of: ShardOf,
    run: NewRun,
    plan: { digest: string; requests: readonly RequestRecord[]; at: string | null },
  ): Promise<void>;
  setRejects(of: ShardOf, input: number, file: string): Promise<void>;
  /**
   * A shard ends. Its run is finished when all of them are.
   * @param whole what all requests of the run come to
   */
  end(
    of: ShardOf,
    end: { status: RunStatus; finished: boolean; endedBy: string | null; summary: Summary },
    whole: (records: readonly RequestRecord[]) => Summary,
  ): Promise<Standing>;
  /** Takes a slot for a request, unless all of them are taken; one that it has stays its own. @param most of the run */
  takeSlot(of: ShardOf, request: number, most: number): Promise<boolean>;
  releaseSlot(of: ShardOf, request: number): Promise<void>;
  /** Slots of shards that no process has. */
  deadSlots(run: string): Promise<{ request: number; shard: number }[]>;
}
