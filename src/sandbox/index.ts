/**
 * The embedded service, for tests and rehearsals: all seven operations of the service over real HTTP on this machine,
 * with faults on demand.
 *
 * ```ts
 * const sandbox = await startSandbox();
 * sandbox.faults.add('503:first=2,retry-after=1');
 * // … point a client at sandbox.url, sandbox.lookupUrl and sandbox.token …
 * sandbox.show('companies', '00042');
 * await sandbox.stop();
 * ```
 *
 * @packageDocumentation
 */
export type { Faults } from './faults.js';
export type { Accepted, LedgerEntry } from './ledger.js';
export type { FailRow, Limits } from './limits.js';
export { type Checklist, type Embed, type Lookups, readLookups } from './lookups.js';
export type { Kind, Profile, Region } from './profile.js';
export type { ProfilePage, ProfileQuery, ProfileRow, ProfileSort } from './profile-index.js';
export { type Sandbox, type SandboxOptions, startSandbox } from './sandbox.js';
export type { SandboxClock } from './world.js';
