/** What a command needs. No service host is built in (contract §2), so each may be missing. */
import { AuthError, ConfigError } from '../../engine/errors.js';
import type { Secret } from './secret.js';
import type { CommandWorld } from './token-command.js';
import type { Settings } from './types.js';

type Hosts = Pick<Settings, 'region' | 'baseUrl' | 'lookupBaseUrl'>;

/** The two lines that give a region its hosts. */
export function hostLines(region: string): string[] {
  return [
    `profiles config set regions.${region}.base_url https://…`,
    `profiles config set regions.${region}.lookup_base_url https://…`,
  ];
}

/** @throws ConfigError with the lines to type */
export function requireBaseUrl(settings: Hosts): string {
  return settings.baseUrl ?? missingHost(settings.region, 'host');
}

/** @throws ConfigError with the lines to type */
export function requireLookupBaseUrl(settings: Hosts): string {
  return settings.lookupBaseUrl ?? missingHost(settings.region, 'lookup host');
}

function missingHost(region: string, what: string): never {
  throw new ConfigError(`region "${region}" has no ${what}, and none is built in`, {
    hint: `run these with the hosts of your account:\n${hostLines(region).join('\n')}\nor rehearse with --region sandbox`,
  });
}

/** Whether there is a token, or a program that prints it. */
export const hasToken = ({ token, tokenCommand }: Pick<Settings, 'token' | 'tokenCommand'>): boolean =>
  token !== null || tokenCommand !== null;

/** The token, for which a program may have to be run. @throws AuthError (exit 4) with the ways to give one */
export async function requireToken(
  settings: Pick<Settings, 'token' | 'tokenCommand' | 'account' | 'configPath'>,
  world: CommandWorld,
): Promise<Secret> {
  if (settings.token) return settings.token;
  if (settings.tokenCommand) {
    // Most commands need no program: what starts one is loaded with it.
    const { runTokenCommand } = await import('./token-command.js');
    return runTokenCommand(settings, world);
  }
  const key = settings.account === null ? 'token' : `accounts.${settings.account}.token`;
  const whose = settings.account === null ? '' : ` for account "${settings.account}"`;
  throw new AuthError(`no token is set${whose}`, {
    hint: `set PROFILES_TOKEN, use --token-file <path>, or run: profiles config set ${key}\nor rehearse with --region sandbox, which needs none`,
  });
}
