/** Settings that a command requires. No host is built in (contract §2), so each of them may be missing. */
import { AuthError, ConfigError } from '../../engine/errors.js';
import type { Commands } from '../again.js';
import { hinted, toRun } from '../hint.js';
import type { Secret } from './secret.js';
import type { CommandWorld } from './token-command.js';
import type { Settings, SettingsWorld } from './types.js';

type Hosts = Pick<Settings, 'region' | 'baseUrl' | 'lookupBaseUrl' | 'otherRegions'>;

/** The two commands that set the hosts of a region, for the user to complete: lines of a hint. */
export function hostLines(region: string, { command }: Commands): [base: string, lookup: string] {
  const line = (key: string): string =>
    command('config', 'set', `regions.${region}.${key}`, 'https://…').replace("'https://…'", 'https://…');
  return [`  ${line('base_url')}`, `  ${line('lookup_base_url')}`];
}

/** @throws ConfigError with the lines to type */
export function requireBaseUrl(settings: Hosts): string {
  return settings.baseUrl ?? missingHost(settings.region, 'host', settings.otherRegions);
}

/** @throws ConfigError with the lines to type */
export function requireLookupBaseUrl(settings: Hosts): string {
  return settings.lookupBaseUrl ?? missingHost(settings.region, 'lookup host');
}

/** @param others regions that have it */
function missingHost(region: string, what: string, others: readonly string[] = []): never {
  const flags = others.map((name) => `--region ${name}`);
  throw hinted(new ConfigError(`region "${region}" has no ${what}, and none is built in`), (commands) =>
    [
      ...(flags.length > 0 ? [`use a region that has one: ${flags.join(' or ')}`] : []),
      `${flags.length > 0 ? 'or ' : ''}run these with the hosts of your account:`,
      ...hostLines(region, commands),
      'or rehearse with --region sandbox',
    ].join('\n'),
  );
}

/** Where the token came from, if the region that a flag chose has none of its own. */
export function tokenFrom({ embedded, origins }: Pick<Settings, 'embedded' | 'origins'>): string | undefined {
  const { region = '', token = 'not set' } = origins;
  const isOwn = embedded || token === 'not set' || /\bregions\.[^.]+\.token\)$/.test(token);
  return isOwn || !region.startsWith('flag ') ? undefined : token.replace(/^(?:environment|flag) /, '');
}

/** Whether there is a token, or a program or file that has one. */
export const hasToken = ({
  token,
  tokenCommand,
  tokenFile,
}: Pick<Settings, 'token' | 'tokenCommand' | 'tokenFile'>): boolean =>
  token !== null || tokenCommand !== null || tokenFile !== null;

/** The token; may run `token_command`, or read `token_file`. @throws AuthError (exit 4) that lists the ways to provide one */
export async function requireToken(
  settings: Pick<Settings, 'token' | 'tokenCommand' | 'tokenFile' | 'account' | 'configPath' | 'origins'>,
  world: CommandWorld & Pick<SettingsWorld, 'platform'>,
): Promise<Secret> {
  if (settings.token) return settings.token;
  if (settings.tokenCommand) {
    // Loaded here, because most commands run no program.
    const { runTokenCommand } = await import('./token-command.js');
    return runTokenCommand(settings, world);
  }
  if (settings.tokenFile) {
    const { readTokenFile } = await import('./token-file.js');
    return readTokenFile(settings.tokenFile, world);
  }
  const key = settings.account === null ? 'token' : `accounts.${settings.account}.token`;
  const whose = settings.account === null ? '' : ` for account "${settings.account}"`;
  // If a flag or a stored run chose the account, PROFILES_TOKEN is ignored, so the hint does not name it.
  const variable = settings.origins.account?.startsWith('flag ')
    ? ''
    : 'set PROFILES_TOKEN or PROFILES_TOKEN_FILE, or ';
  throw hinted(
    new AuthError(`no token is set${whose}`),
    ({ command }) =>
      `${toRun(`${variable}run`, command('config', 'set', key))}\nor rehearse with --region sandbox, which needs none`,
  );
}
