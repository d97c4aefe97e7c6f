/** Nouns of the embedded service. Its own, not the client's: one mistake must not hide in a type that both share. */

/** Key of a bulk body (spec: Endpoints 1 and 3). */
export type Kind = 'companies' | 'users';

/** Data residency: each region has its own base listener and profiles. */
export type Region = 'default' | 'eu';

/** The identifier's field for each kind (spec: Company, User). */
export const ID_FIELD = { companies: 'company_id', users: 'user_id' } as const satisfies Record<Kind, string>;

/** Where the sandbox reads the time, milliseconds since the epoch. Everything a job does follows from it. */
export interface SandboxClock {
  now(): number;
}
