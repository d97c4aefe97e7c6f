/** The API key: whether there is one, where it came from, and how a program or a file is asked for it when it is needed. */
import { stat } from 'node:fs/promises';
import { AuthError, ConfigError, ProfilesError } from '../../engine/errors.js';
import { fileTrouble } from '../../engine/file-trouble.js';
import { readSmallFile } from '../../engine/read-small-file.js';
import { hinted, toRun } from '../advice/hint.js';
import { refuseExposed } from './file.js';
import { readToken, type Secret } from './secret.js';
import type { CommandWorld, Settings, SettingsWorld } from './sources.js';

type TokenSettings = Pick<Settings, 'token' | 'tokenCommand' | 'tokenFile'>;

/** Whether there is a token, or a program or file that has one. */
export const hasToken = ({ token, tokenCommand, tokenFile }: TokenSettings): boolean =>
  token !== null || tokenCommand !== null || tokenFile !== null;

/** Where the token came from, if the region that a flag chose has none of its own. */
export function tokenFrom({ embedded, origins }: Pick<Settings, 'embedded' | 'origins'>): string | undefined {
  const { region = '', token = 'not set' } = origins;
  const isOwn = embedded || token === 'not set' || /\bregions\.[^.]+\.token\)$/.test(token);
  return isOwn || !region.startsWith('flag ') ? undefined : token.replace(/^(?:environment|flag) /, '');
}

/** The token; may run `token_command`, or read `token_file`. @throws AuthError (exit 4) that lists the ways to provide one */
export async function requireToken(
  settings: TokenSettings & Pick<Settings, 'account' | 'configPath' | 'origins'>,
  world: CommandWorld & Pick<SettingsWorld, 'platform'>,
): Promise<Secret> {
  const { token, tokenCommand, tokenFile, account, origins } = settings;
  if (token) return token;
  if (tokenCommand) {
    // Loaded here, because most commands run no program.
    const { runTokenCommand } = await import('./token-command.js');
    return runTokenCommand(settings, world);
  }
  if (tokenFile) return readTokenFile(tokenFile, world);
  const key = account === null ? 'token' : `accounts.${account}.token`;
  const whose = account === null ? '' : ` for account "${account}"`;
  // If a flag or a stored run chose the account, PROFILES_TOKEN is ignored, so the hint does not name it.
  const byVariable = origins.account?.startsWith('flag ')
    ? ''
    : 'set PROFILES_TOKEN or PROFILES_TOKEN_FILE, or ';
  throw hinted(
    new AuthError(`no token is set${whose}`),
    ({ command }) =>
      `${toRun(`${byVariable}run`, command('config', 'set', key))}\nor rehearse with --region sandbox, which needs none`,
  );
}

/**
 * Reads `token_file`, such as a mounted secret (contract §2 "Keys").
 * @throws ConfigError if the file cannot be read, is empty, or can be read by other users; InterruptedError
 */
export async function readTokenFile(
  { path, origin }: NonNullable<Settings['tokenFile']>,
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
