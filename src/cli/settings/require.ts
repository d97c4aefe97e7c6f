/** What a command needs. No service host is built in (contract §2), so each may be missing. */
import { AuthError, ConfigError } from '../../engine/errors.js';
import type { Commands } from '../again.js';
import { hinted } from '../hint.js';
import type { Secret } from './secret.js';
import type { Settings } from './types.js';

type Hosts = Pick<Settings, 'region' | 'baseUrl' | 'lookupBaseUrl'>;

/** The two lines that give a region its hosts, which the reader fills in. */
export function hostLines(region: string, { command }: Commands): [base: string, lookup: string] {
  const line = (key: string): string =>
    command('config', 'set', `regions.${region}.${key}`, 'https://…').replace("'https://…'", 'https://…');
  return [line('base_url'), line('lookup_base_url')];
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
  throw hinted(
    new ConfigError(`region "${region}" has no ${what}, and none is built in`),
    (commands) =>
      `run these with the hosts of your account:\n${hostLines(region, commands).join('\n')}\nor rehearse with --region sandbox`,
  );
}

/** @throws AuthError (exit 4) with the ways to give one */
export function requireToken({
  token,
  account,
  origins,
}: Pick<Settings, 'token' | 'account' | 'origins'>): Secret {
  if (token) return token;
  const key = account === null ? 'token' : `accounts.${account}.token`;
  const whose = account === null ? '' : ` for account "${account}"`;
  // An account that a flag or a run chose brings its own token.
  const variable = origins.account?.startsWith('flag ') ? '' : 'set PROFILES_TOKEN, ';
  throw hinted(
    new AuthError(`no token is set${whose}`),
    ({ command }) =>
      `${variable}use --token-file <path>, or run: ${command('config', 'set', key)}\nor rehearse with --region sandbox, which needs none`,
  );
}
