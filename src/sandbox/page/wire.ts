/** The JSON bodies of the sandbox's own API, for its page and for tests (docs/sandbox-api.md). Only types. */

export type Kind = 'companies' | 'users';
export type Region = 'default' | 'eu';

export interface Settings {
  latency_ms: number;
  rows_per_second: number;
  one_job_at_a_time: boolean;
  max_items: number | null;
  max_bytes: number;
  rate_limit: number | null;
  fail_jobs: number;
  /** `key=value`. */
  fail_rows: string[];
  fail_rows_with: 'failed' | 'short' | '422';
}

/** The state of the sandbox at a glance. Times are ISO 8601. */
export interface Overview {
  now: string;
  profiles: Record<Region, Record<Kind, number>>;
  /** False while completed jobs are still being added to the list of profiles. */
  up_to_date: boolean;
  jobs: { total: number; unfinished: number; failed: number };
  requests: number;
  settings: Settings;
  faults: string[];
  base_url: string;
  eu_base_url: string | null;
  lookup_base_url: string;
  /** Whether any well-formed API key is accepted. */
  any_token: boolean;
  /** Increase with every change of the profiles, or of the request log. */
  revisions: { profiles: number; requests: number };
}

export interface ProfileLine {
  id: string;
  company_id: string | null;
  created_at: string;
  updated_at: string;
  upserts: number;
  /** The first keys and values, for a table. */
  preview: string;
}

export interface ProfileList {
  kind: Kind;
  region: Region;
  total: number;
  found: number;
  profiles: ProfileLine[];
}

/** A value for display. A long one is cut; `characters` is its full length. */
export interface Shown {
  type: string;
  text: string;
  characters: number;
}

export interface ProfileAnswer {
  /** Null if it does not exist, or not yet. */
  profile: ProfileDetail | null;
  /** Whether a job that has not completed yet contains it. */
  pending: boolean;
}

export interface ProfileDetail {
  kind: Kind;
  region: Region;
  id: string;
  company_id: string | null;
  fields: ({ key: string } & Shown)[];
  upserts: number;
  /** Newest first. */
  story: StoryEntry[];
}

export interface StoryEntry {
  at: string;
  /** Null for a single company's upsert. */
  job_id: string | null;
  company_id: { before: string | null; after: string } | null;
  changes: { key: string; before: Shown | null; after: Shown | null }[];
  /** Number of changed keys that are not listed. */
  more_changes: number;
  unchanged: number;
}

export interface JobLine {
  job_id: string;
  type: string;
  status: string;
  filename: string;
  file_size: number;
  total_rows: number;
  completed_rows: number;
  /** Seconds. */
  elapsed_time: number;
  start_time: string;
  end_time: string | null;
  links: string;
  region: Region;
  phases: { status: string; from: string; until: string | null }[];
}

export interface JobList {
  now: string;
  total: number;
  jobs: JobLine[];
}

export interface JobDetail {
  now: string;
  /** Null if there is no job with this id. */
  job: JobLine | null;
  /** The first identifiers that it upserted; empty until it has completed. */
  ids: string[];
  request: RequestLine | null;
}

export interface RequestLine {
  n: number;
  time: string;
  listener: Region | 'lookup';
  method: string;
  path: string;
  operation: string | null;
  request_id: string;
  status: number | null;
  /** Null until it has been answered. */
  duration_ms: number | null;
  fault: string | null;
  error: string | null;
  accepted: {
    kind: Kind;
    region: Region;
    items: number;
    bytes: number;
    sha256: string;
    job_id: string | null;
  } | null;
}

export interface RequestAnswer {
  /** Null if it is not in the log. */
  request: RequestLine | null;
}

export interface RequestList {
  total: number;
  requests: RequestLine[];
}

export interface PropertyList {
  properties: {
    id: number;
    type: string;
    key: string;
    display_name: string;
    data_type: string;
    is_auto_property: boolean;
  }[];
}
