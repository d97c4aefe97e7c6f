/** Data types of the state. */
import type { Kind, RunStatus, Summary } from '../model.js';
import type { Job } from '../service/contract.js';

/** An account of a service. Records are never shared between scopes. */
export interface Scope {
  /** Configured account name, otherwise a keyed hash of the token. */
  account: string;
  region: string;
  base_url: string;
}

/** A service as the settings describe it. */
export interface ServiceInUse {
  /** Configured name of the account, or null. */
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
  /** Number of items in its request. */
  rows: number;
  /** The status that was seen last; before the first poll, that in the reply to the request. */
  status: string;
  /** ISO 8601. */
  submitted_at: string;
  seen_at: string;
  /** The record that was seen last. */
  record: Job;
}

/** A run that the state has a record of. */
export interface KnownRun {
  run: string;
  scope: Scope;
  kinds: Kind[];
  paths: string[];
  /**
   * `running` until the end of its session is recorded. A process that takes the lock marks runs that died as
   * `crashed`.
   */
  status: RunStatus | 'running' | 'crashed' | 'superseded';
  started_at: string;
  ended_at: string | null;
  /** The result document of its last session without texts that quote rows; null if no session has ended. */
  summary: Summary | null;
}

/** When a plan was made. */
export interface Made {
  /** The run that its file names. */
  plan: string;
  /** By the clock of its machine, ISO 8601. */
  at: string;
  /**
   * The number that this state gave to it, as its file says; null if it was made with another state. If this state has
   * that number for it (`numberPlan`), the number alone counts.
   */
  after: number | null;
}

/** A lock on imports of one account and kind that this process holds. */
export interface HeldLease {
  /**
   * Call this in the tick in which a request is written.
   * @throws StateError or LockLostError if the lock may be lost
   */
  check(): void;
  /** Changes the description of the holder. */
  rename(holder: string): Promise<void>;
  release(): Promise<void>;
}

/** A lock on imports of one account and kind, for display. */
export interface HeldLock extends Scope {
  kind: Kind;
  /** The description of the process that has it: the run and its files; null if there is none. */
  holder: string | null;
  /** Seconds since its last heartbeat; null with SQLite, which needs no heartbeats. */
  heartbeat_age: number | null;
  /** Whether it has not expired. Otherwise, its process is gone, or cannot reach the database. */
  fresh: boolean;
}

/** When the oldest and the newest completed send were completed: ISO 8601; null if there is none. */
export interface StateAge {
  oldest_completed_at: string | null;
  newest_completed_at: string | null;
}
