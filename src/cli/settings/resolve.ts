/** Reads the sources of settings, and decides the settings. */
import { decideSettings } from './decide.js';
import { readConfig } from './file.js';
import { configLocation } from './location.js';
import type { Settings, SettingsFlags, SettingsWorld } from './types.js';

/**
 * The settings of this command, each value with its origin (contract §2).
 * @throws UsageError for a flag; ConfigError for the environment or the file
 */
export async function resolveSettings(world: SettingsWorld, flags: SettingsFlags): Promise<Settings> {
  const location = configLocation(world, flags);
  const named = location.origin === 'default' ? undefined : location.origin;
  const config = await readConfig(location.value, world, named);
  return decideSettings({ world, flags, config });
}
