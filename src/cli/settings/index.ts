/** The settings (contract §2): what the sources decide, without asking a service. No host is built in, so each has to be set. */

import { hasPassword, stateLocationOf } from '../../engine/state/location.js';
import type { Elsewhere } from '../../engine/state/state.js';
import { camelCase, FLAGLESS, GLOBAL, usage } from '../options/index.js';
import { readConfig } from './file.js';
import { chooseAccount, chooseRegion, findHost, overriddenRegion, regionsWithHost } from './hosts.js';
import type { Ignore, ImportDefault, Settings, SettingsFlags, SettingsWorld, Sources } from './sources.js';
import * as sourced from './sources.js';
import { findToken } from './token.js';

const { asUsage, configLocation, find, inFile, setting, stateLocation, variable } = sourced;

export * from './file.js';
export { BUILT_IN_REGIONS, HOSTS, requireHost, setHost } from './hosts.js';
export * from './keys.js';
export * from './sources.js';
export * from './token.js';

/**
 * Reads the config file, and decides the settings of this command.
 * @throws UsageError for a flag; ConfigError for the environment or the file
 */
export async function resolveSettings(world: SettingsWorld, flags: SettingsFlags): Promise<Settings> {
  const { value: path, origin } = configLocation(world, flags);
  const config = await readConfig(path, world, origin === 'default' ? undefined : origin);
  const account = chooseAccount({ world, flags, config });
  const own = account && sourced.property(config.content.accounts, account.value);
  const top = { section: config.content, prefix: '' };
  const sections = own ? [{ section: own, prefix: `accounts.${account.value}.` }, top] : [top];
  const sources = { world, flags, config, sections };
  const region = chooseRegion(sources);
  const warnings: string[] = [];
  const ignore: Ignore = (name, why) => {
    if (variable(world, name)) warnings.push(`${name} is ignored: ${why}`);
  };
  if (flags.account !== undefined) {
    const warning = overriddenRegion(flags.account, sections[0]!.section.region, region);
    if (warning !== null) warnings.push(warning);
  }
  const base = findHost(sources, 'baseUrl', region, ignore);
  const lookup = findHost(sources, 'lookupBaseUrl', region, ignore);
  const token = findToken(sources, region.value, ignore);
  const { state, stateDir } = findState(sources);
  const imports = importDefaults(sources);
  const { requestTimeout } = GLOBAL;
  const confirm = inFile<boolean>(sources, FLAGLESS.confirm.config);
  const timeout = find(sources, 'requestTimeout');
  return {
    account: account?.value ?? null,
    accounts: Object.keys(config.content.accounts ?? {}),
    region: region.value,
    embedded: region.value === 'sandbox',
    baseUrl: base.value,
    lookupBaseUrl: lookup.value,
    otherRegions: regionsWithHost(sections).filter((name) => name !== region.value),
    token: token.value,
    state: state.value,
    stateDir: stateDir.value,
    timeoutMs: timeout ? requestTimeout.type.read(timeout.value, setting(timeout)) : requestTimeout.default,
    confirm: confirm?.value ?? false,
    importDefaults: imports.values,
    configPath: config.path,
    origins: {
      account: account?.origin ?? 'not set',
      region: region.origin,
      base_url: base.origin,
      lookup_base_url: lookup.origin,
      token: token.origin,
      state: state.origin,
      state_dir: stateDir.origin,
      request_timeout: timeout?.origin ?? 'default',
      ...(confirm && { confirm: confirm.origin }),
      ...imports.origins,
    },
    warnings,
  };
}

function importDefaults({ config, sections }: Sources) {
  const values: Record<string, ImportDefault> = {};
  const origins: Record<string, string> = {};
  for (const { section, prefix } of [...sections].reverse()) {
    const { interval, import: imports = {} } = section;
    for (const [key, value] of Object.entries({ interval, ...imports })) {
      if (value === undefined) continue;
      const full = key === 'interval' ? key : `import.${key}`;
      values[camelCase(key)] = value as ImportDefault;
      origins[full] = `${config.path} (${prefix}${full})`;
    }
  }
  return { values, origins };
}

/** A folder holds everything; beside a database, the machine keeps its files in its own folder. */
function findState(sources: Sources) {
  const { world } = sources;
  const inFolder = (folder: string, origin: string) => ({
    state: { value: { kind: 'sqlite', folder } as Settings['state'], origin },
    stateDir: { value: folder, origin },
  });
  const found = find(sources, 'state');
  const machine = found ?? stateLocation(world);
  if (!found) return inFolder(machine.value, machine.origin);
  const { value: text, origin } = found;
  const locate = origin.startsWith('flag ') ? ofFlag : stateLocationOf;
  const location = locate(text, setting(found), world);
  if (location.kind === 'sqlite') return inFolder(location.folder, origin);
  const state: Settings['state'] = { kind: 'postgres', url: new sourced.Secret(location.url) };
  return { state: { value: state, origin }, stateDir: stateLocation(world) };
}

/** @throws UsageError, also for a password */
function ofFlag(text: string, flag: string, world: Pick<SettingsWorld, 'cwd' | 'platform'>) {
  if (!hasPassword(text)) return asUsage(() => stateLocationOf(text, flag, world));
  const what = 'a password on the command line would be visible in ps and in your shell history';
  const instead = `set ${GLOBAL.state.env} to the URL, or leave the password to PGPASSWORD or a password file`;
  throw usage(`${flag}: ${what}`, instead);
}

/** What opening a database needs. */
type Reach = Pick<SettingsWorld, 'env'> & { abort: AbortSignal };

/** The location of a state in a database; undefined if it is in the state directory. */
export function stateElsewhere({ state, origins }: Settings, { env, abort }: Reach): Elsewhere | undefined {
  if (state.kind === 'sqlite') return undefined;
  return { at: { kind: state.kind, url: state.url.reveal() }, env, origin: origins.state!, signal: abort };
}

/** Parses the state that a flag names. @throws UsageError */
export const stateNamed = (
  text: string,
  flag: string,
  world: Reach & Pick<SettingsWorld, 'cwd' | 'platform'>,
): Elsewhere => ({ at: ofFlag(text, flag, world), env: world.env, origin: flag, signal: world.abort });
