/**
 * What this machine remembers (contract §4): runs, requests, jobs and fingerprints, in one SQLite
 * database. No tokens and no metadata are in it.
 */
import type { Kind, RunStatus, Summary } from '../model.js';
import type { Job } from '../service/contract.js';

/** Whose service it is: state never crosses from one scope to another. */
export interface Scope {
  /** Configured account name, else a keyed hash of the token. */
  account: string;
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
  /** Last seen status; `accepted` before the first poll is what the submission's reply said. */
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
  /** `running` while it has no end: it is running now, or it died. */
  status: RunStatus | 'running' | 'superseded';
  started_at: string;
  ended_at: string | null;
  /** The result document of its last sitting, where there is one. */
  summary: Summary | null;
}

export interface State {
  /** Newest first. */
  knownJobs(): KnownJob[];
  /** Records what a job looked like; one that is seen completed sets its request's fingerprints. Unknown jobs are ignored. */
  sawJob(scope: Scope, job: Job): void;
  /** Newest first. */
  knownRuns(): KnownRun[];
  close(): void;
}
