/**
 * Types of the embedded service. It does not use those of the client, because both would then share their
 * mistakes.
 */

/** The key in a bulk body (spec: Endpoints 1 and 3). */
export type Kind = 'companies' | 'users';

/** Data residency: each region has its own base listener and profiles. */
export type Region = 'default' | 'eu';

/** The field of the identifier, by kind (spec: Company, User). */
export const ID_FIELD = { companies: 'company_id', users: 'user_id' } as const satisfies Record<Kind, string>;

/** The clock of the sandbox, in milliseconds since 1970. All progress of jobs is computed from it. */
export interface SandboxClock {
  now(): number;
}
