/** Types of the state. */
import type { Kind, RunStatus, Summary } from '../model.js';
import type { Job } from '../service/contract.js';

/** An account of a service: state is never shared between scopes. */
export interface Scope {
  /** Configured account name, otherwise a keyed hash of the token. */
  account: string;
  region: string;
  base_url: string;
}

/** A service as the settings name it. */
export interface ServiceInUse {
  /** Configured name, or null. */
  account: string | null;
  token: string;
  region: string;
  base_url: string;
}

/** A job that a command submitted, as it was last seen. */
export interface KnownJob {
  job_id: string;
  kind: Kind;
  scope: Scope;
  run: string | null;
  /** Items of its request. */
  rows: number;
  /** Last seen status; before the first poll, that of the submission's reply. */
  status: string;
  /** ISO 8601. */
  submitted_at: string;
  seen_at: string;
  /** The record as last seen. */
  record: Job;
}

/** An import known to this machine. */
export interface KnownRun {
  run: string;
  scope: Scope;
  kinds: Kind[];
  paths: string[];
  /** `running` until its end is recorded: it is running now, or it died and nobody has noticed yet (`crashed`). */
  status: RunStatus | 'running' | 'crashed' | 'superseded';
  started_at: string;
  ended_at: string | null;
  /** The result document of its last session, if there is one, without texts that quote rows. */
  summary: Summary | null;
}

/** When a plan was made. */
export interface Made {
  /** By the clock of its machine, ISO 8601. */
  at: string;
  /** The last number of this state at that time, which no clock can change; null if it was made with another state. */
  after: number | null;
}

/** One of the shards of a run. */
export interface ShardOf {
  run: string;
  /** From 1. */
  shard: number;
  shards: number;
}

/** A lock on imports of one account and kind that this process holds. */
export interface HeldLease {
  /** Called in the tick in which a request is written. @throws StateError if the lock may be lost */
  check(): void;
  /** Changes the description of the holder. */
  rename(holder: string): Promise<void>;
  release(): Promise<void>;
}

/** A lock on imports of one account and kind, held by another process. */
export interface HeldLock extends Scope {
  kind: Kind;
  /** The holder's own description: the run and its files; null if there is none. */
  holder: string | null;
  /** Seconds since its last heartbeat; null if the operating system holds the lock while the process runs. */
  heartbeat_age: number | null;
  /** Whether its heartbeats are on time. Otherwise, its process is gone or cut off. */
  fresh: boolean;
}
