/** A world of settings: an environment, flags and a config file, all of the test's own. */

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorWords } from '../../../src/cli/advice/words.js';
import { resolveSettings } from '../../../src/cli/settings/index.js';
import type { Settings, SettingsFlags, SettingsWorld } from '../../../src/cli/settings/sources.js';
import type { ProfilesError } from '../../../src/engine/errors.js';
import { scratch } from '../../support/cli.js';

export interface Given {
  env?: Record<string, string | undefined>;
  flags?: SettingsFlags;
  /** Content of the config file: an object, or its text. Absent: no file. */
  file?: object | string;
  mode?: number;
  platform?: NodeJS.Platform;
}

/** A home folder, with a config file where it is looked for by default. */
export function home(given: Given = {}): { world: SettingsWorld; path: string } {
  const cwd = scratch();
  const path = join(cwd, '.config', 'profiles', 'config.json');
  if (given.file !== undefined) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof given.file === 'string' ? given.file : JSON.stringify(given.file));
    chmodSync(path, given.mode ?? 0o600);
  }
  return { world: { env: { HOME: cwd, ...given.env }, platform: given.platform ?? 'linux', cwd }, path };
}

/** Settings of such a world. `~` in the result stands for its home. */
export async function settle(given: Given = {}): Promise<Settings> {
  const { world } = home(given);
  return resolveSettings(world, given.flags ?? {});
}

/** The error of such a world, as the user reads it, its home shown as `~`. */
export async function refusal(
  given: Given,
): Promise<{ name: string; message: string; hint: string | undefined }> {
  const { world } = home(given);
  try {
    await resolveSettings(world, given.flags ?? {});
  } catch (error) {
    const { name } = error as Error;
    const { message, hint } = errorWords(error as ProfilesError);
    return { name, message: message.replaceAll(world.cwd, '~'), hint: hint?.replaceAll(world.cwd, '~') };
  }
  throw new Error('nothing was refused');
}
