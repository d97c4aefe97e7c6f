/** The sandbox's data without its listeners: to look at what a rehearsal left, and to erase it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE } from './database.js';
import { DEFAULT_LOOKUPS } from './lookups.js';
import { openStore } from './store.js';
import type { SandboxClock } from './types.js';
import { createWorld, type World } from './world.js';

/** @internal */
export type SandboxData = Pick<World, 'profile' | 'profiles' | 'pending' | 'reset' | 'close'>;

/**
 * Opens the data in a folder, also while a sandbox or a command uses it.
 * @returns undefined when there is none; nothing is made
 * @throws StateError
 * @internal
 */
export function openSandboxData(dataDir: string, clock: SandboxClock): SandboxData | undefined {
  if (!existsSync(join(dataDir, DATABASE_FILE))) return undefined;
  return createWorld(openStore(dataDir), clock, DEFAULT_LOOKUPS);
}
