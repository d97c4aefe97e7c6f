/** A shard of a run as a record. */
import type { ShardRecord } from '../../engine/state/shards.js';
import type { ListRecord } from '../output/records.js';

/** A shard of a run. Its counts of rows are from the end of its last session; null before that. */
export function shardRecord({
  shard,
  status,
  summary,
  rejects,
  started_at,
  ended_at,
}: ShardRecord): ListRecord {
  const { read, submitted, completed, unsent } = summary?.rows ?? {};
  return {
    shard,
    status,
    read: read ?? null,
    submitted: submitted ?? null,
    completed: completed ?? null,
    unsent: unsent ?? null,
    ...(rejects.some(Boolean) && { rejects_file: rejects.filter(Boolean).join(',') }),
    started_at,
    ended_at,
  };
}
