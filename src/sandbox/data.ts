/** The data of the sandbox without its listeners, to show or erase what a rehearsal left. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE, openDatabase } from './database.js';
import { DEFAULT_LOOKUPS } from './lookups.js';
import type { ProfilePage, ProfileQuery } from './profile-index.js';
import type { Counts, Kind, Profile, Region, SandboxClock } from './types.js';
import { World } from './world.js';

/** @internal */
export interface SandboxData {
  profile(kind: Kind, id: string, region: Region): Profile | undefined;
  profiles(query: ProfileQuery): Promise<ProfilePage>;
  pending(kind: Kind, id: string, region: Region): boolean;
  reset(): Counts;
  close(): void;
}

/**
 * Opens the data in a folder, even while a sandbox or a command uses it.
 * @returns undefined if there is no data; creates nothing
 * @throws StateError
 * @internal
 */
export function openSandboxData(dataDir: string, clock: SandboxClock): SandboxData | undefined {
  if (!existsSync(join(dataDir, DATABASE_FILE))) return undefined;
  return new World(openDatabase(dataDir), clock, DEFAULT_LOOKUPS);
}
