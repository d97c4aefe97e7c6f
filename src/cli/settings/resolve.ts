/** Reads the sources of settings, and decides the settings. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ProfilesError, UsageError } from '../../engine/errors.js';
import { fileTrouble } from '../../engine/file-trouble.js';
import { readSmallFile } from '../../engine/read-small-file.js';
import { readPath } from '../options/types.js';
import { decideSettings } from './decide.js';
import { readConfig, refuseExposed } from './file.js';
import { configLocation } from './location.js';
import { readToken, type Secret } from './secret.js';
import type { Settings, SettingsFlags, SettingsWorld } from './types.js';

/**
 * The settings of this command, each value with its origin (contract §2).
 * @throws UsageError for a flag; ConfigError for the environment or the file
 */
export async function resolveSettings(world: SettingsWorld, flags: SettingsFlags): Promise<Settings> {
  const location = configLocation(world, flags);
  const named = location.origin === 'default' ? undefined : location.origin;
  const config = await readConfig(location.value, world, named);
  const tokenFile = flags.tokenFile === undefined ? null : await readTokenFile(world, flags.tokenFile);
  return decideSettings({ world, flags, config, tokenFile });
}

/**
 * The token of `--token-file`.
 * @throws UsageError if the file cannot be read or is empty; ConfigError if others can read it; InterruptedError
 */
export async function readTokenFile(world: SettingsWorld, name: string): Promise<Secret> {
  const origin = `--token-file ${name}`;
  const path = resolve(world.cwd, readPath(name, '--token-file'));
  let text: string;
  try {
    const found = await stat(path);
    // The mode of a pipe, such as one made by `<(…)`, does not matter.
    if (world.platform !== 'win32' && found.isFile()) {
      refuseExposed(path, found, {
        what: 'contains a token',
        otherwise: '; if that is not possible, set PROFILES_TOKEN instead',
      });
    }
    text = (await readSmallFile(path, world.stop)).toString();
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    throw new UsageError(`${origin}: ${fileTrouble((error as NodeJS.ErrnoException).code)}`, {
      cause: error,
    });
  }
  const token = readToken(text, origin);
  if (!token) throw new UsageError(`${origin}: the file is empty`);
  return token;
}
