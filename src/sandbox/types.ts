/**
 * Types of the embedded service. It does not use those of the client, because both would then share their
 * mistakes.
 */

/** The key in a bulk body (spec: Endpoints 1 and 3). */
export type Kind = 'companies' | 'users';

/** Data residency: each region has its own base listener and profiles. */
export type Region = 'default' | 'eu';

/** What an operation is called in faults and in the ledger. */
export type OperationName = 'submit' | 'identify' | 'job' | 'lookup' | 'openapi';

/** The field of the identifier, by kind (spec: Company, User). */
export const ID_FIELD = { companies: 'company_id', users: 'user_id' } as const satisfies Record<Kind, string>;

/** The clock of the sandbox, in milliseconds since 1970. All progress of jobs is computed from it. */
export interface SandboxClock {
  now(): number;
}

/** A company or user in the sandbox. */
export interface Profile {
  kind: Kind;
  region: Region;
  id: string;
  /** The company of a user. Null if none was named, and for companies. */
  companyId: string | null;
  metadata: Record<string, unknown>;
  /** The complete profile as JSON text, with numbers as they were sent. */
  json: string;
}

/** Totals over all regions. @internal */
export interface Counts {
  /** An identifier counts once per region. */
  companies: number;
  users: number;
  /** Bulk requests. A single company's upsert is not a job. */
  jobs: number;
}
