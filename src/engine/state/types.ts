/** The nouns of the state. */
import type { Kind, RunStatus, Summary } from '../model.js';
import type { Job } from '../service/contract.js';

/** Whose service it is: state never crosses from one scope to another. */
export interface Scope {
  /** Configured account name, else a keyed hash of the token. */
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

/** A job that a command of this machine submitted, as it was last seen. */
export interface KnownJob {
  job_id: string;
  kind: Kind;
  scope: Scope;
  run: string | null;
  /** Items of its request. */
  rows: number;
  /** Last seen status; before the first poll, what the submission's reply said. */
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
  /** `running` while it has no end: it is running now, or it died, and nobody has noticed (`crashed`). */
  status: RunStatus | 'running' | 'crashed' | 'superseded';
  started_at: string;
  ended_at: string | null;
  /** The result document of its last session, where there is one; without the words that quote its rows. */
  summary: Summary | null;
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
  /** Called in the tick in which a request is written. @throws StateError when it no longer surely holds */
  check(): void;
  /** Says who holds it in other words. */
  rename(holder: string): Promise<void>;
  release(): Promise<void>;
}

/** A lock on imports of one account and kind, held by another process. */
export interface HeldLock extends Scope {
  kind: Kind;
  /** The run and its files, in its own words; null where it did not say. */
  holder: string | null;
  /** Seconds since it was last heard of; null where the operating system holds the lock for as long as it runs. */
  heartbeat_age: number | null;
  /** Whether it is heard of as often as it should be. Otherwise its process is gone, or cut off. */
  fresh: boolean;
}
