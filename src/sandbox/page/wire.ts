/** The bodies of the sandbox's own API, as its page and its tests read them. Documented in docs/sandbox-api.md. Types only. */

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

/** Times are ISO 8601. */
export interface Overview {
  now: string;
  profiles: Record<Region, Record<Kind, number>>;
  /** False while completed jobs are still being taken into the list of profiles. */
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
  /** Grow with every change of the profiles, or of the request log. */
  revisions: { profiles: number; requests: number };
}

export interface ProfileLine {
  id: string;
  company_id: string | null;
  created_at: string;
  updated_at: string;
  upserts: number;
  /** The first values, for a table. */
  preview: string;
}

export interface ProfileList {
  kind: Kind;
  region: Region;
  total: number;
  found: number;
  profiles: ProfileLine[];
}

/** A value for display: long ones are cut, and `characters` says how long they are. */
export interface Shown {
  type: string;
  text: string;
  characters: number;
}

export interface ProfileAnswer {
  /** Null when it is not there, or not yet. */
  profile: ProfileDetail | null;
  /** A job that has not completed yet holds it. */
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
  /** Keys that were changed but are not listed. */
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
  /** Null when there is none with this id. */
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
  /** Null while it has not been answered. */
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
  /** Null when it is not in the log. */
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
