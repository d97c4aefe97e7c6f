/** `token_file`: reads the token from a file, such as a mounted secret (contract §2 "Keys"). */
import { stat } from 'node:fs/promises';
import { ConfigError, ProfilesError } from '../../engine/errors.js';
import { fileTrouble } from '../../engine/file-trouble.js';
import { readSmallFile } from '../../engine/read-small-file.js';
import { refuseExposed } from './file.js';
import { readToken, type Secret } from './secret.js';
import type { SettingsWorld, TokenFile } from './types.js';

/** @throws ConfigError if the file cannot be read, is empty, or can be read by other users; InterruptedError */
export async function readTokenFile(
  { path, origin }: TokenFile,
  { platform, stop }: Pick<SettingsWorld, 'platform' | 'stop'>,
): Promise<Secret> {
  let text: string;
  try {
    const found = await stat(path);
    // The mode of a pipe does not matter.
    if (platform !== 'win32' && found.isFile()) {
      refuseExposed(path, found, {
        what: 'contains a token',
        otherwise: '; if that is not possible, set PROFILES_TOKEN instead',
      });
    }
    text = (await readSmallFile(path, stop)).toString();
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    const trouble = fileTrouble((error as NodeJS.ErrnoException).code);
    throw new ConfigError(`${path}: ${trouble} (from ${origin})`, { cause: error });
  }
  const token = readToken(text, path);
  if (!token) throw new ConfigError(`${path}: the file is empty (from ${origin})`);
  return token;
}
