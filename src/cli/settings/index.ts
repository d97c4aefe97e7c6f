/** The settings (contract §2): what the sources decide, without asking a service. No host is built in, so each has to be set. */

import { ConfigError } from '../../engine/errors.js';
import { parseHost } from '../../engine/service/address.js';
import { hasPassword, stateLocationOf } from '../../engine/state/location.js';
import type { Elsewhere } from '../../engine/state/state.js';
import { didYouMean } from '../../engine/util/nearest.js';
import { type Advice, type Call, hinted } from '../advice/hint.js';
import { camelCase, FLAGLESS, GLOBAL, spelled, usage } from '../options/index.js';
import { readConfig } from './file.js';
import { NAME, NAME_RULE } from './keys.js';
import type {
  Found,
  Ignore,
  ImportDefault,
  Section,
  Settings,
  SettingsFlags,
  SettingsWorld,
  Sources,
} from './sources.js';
import * as sourced from './sources.js';
import { findToken } from './token.js';

const { asUsage, configLocation, find, inFile, setting, stateLocation, variable } = sourced;

export * from './file.js';
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

/** Regions that exist without an entry in the config file. */
export const BUILT_IN_REGIONS = ['default', 'eu', 'sandbox'] as const;

/**
 * The chosen account, or null. Like the region, it must be known, so that a mistyped `sandbox` never reaches a real
 * service.
 * @throws UsageError or ConfigError if it is not configured
 */
function chooseAccount({ world, flags, config }: Omit<Sources, 'sections'>): Found<string> | null {
  const { account: value, accounts } = config.content;
  const atTop = value === undefined ? null : { value, origin: config.path };
  const found = sourced.flagOrVariable(world, flags, 'account') ?? atTop;
  if (!found || sourced.property(accounts, found.value)) return found;
  const add = { do: 'create it with', run: ['config', 'init', '--account', found.value] };
  throw unknown('account', found, Object.keys(accounts ?? {}), add);
}

/** The chosen region. @throws UsageError or ConfigError if it is neither built in nor configured */
function chooseRegion(sources: Sources): Found<string> {
  const found = find(sources, 'region') ?? { value: GLOBAL.region.default, origin: 'default' };
  const configured = sources.sections.flatMap(({ section }) => Object.keys(section.regions ?? {}));
  const known = [...new Set([...BUILT_IN_REGIONS, ...configured])];
  if (known.includes(found.value)) return found;
  const add = `available regions: ${known.join(', ')}; to add this one`;
  throw unknown('region', found, known, { do: add, ...setHost(found.value, 'base_url') });
}

/**
 * The error for an unknown name: a `UsageError` if a flag gave it, otherwise a `ConfigError`.
 * @param add how to add the name; not for one that cannot be in the config file
 */
function unknown(what: string, { value, origin }: Found<string>, known: string[], add: Advice): Error {
  const message = `unknown ${what} "${value}" (${origin})`;
  const hint = didYouMean(value, known, NAME.test(value) ? add : NAME_RULE);
  return hinted(origin.startsWith('flag ') ? usage(message) : new ConfigError(message), hint);
}

/**
 * Compares the region of the account of `--account` with `PROFILES_REGION`, which overrides it; a warning, or null.
 * @throws UsageError if the account's region is the sandbox: rows for a rehearsal could reach a real service
 */
function overriddenRegion(account: string, own: string | undefined, region: Found<string>) {
  const { value, origin } = region;
  if (own === undefined || own === value || !origin.startsWith('environment ')) return null;
  if (own !== 'sandbox') return `PROFILES_REGION=${value} overrides ${own}, the region of account ${account}`;
  const hint = `unset PROFILES_REGION, or use --region sandbox or --region ${value}`;
  throw usage(`account "${account}" uses region sandbox, but PROFILES_REGION is ${value}`, hint);
}

/** The hosts of the region: for imports and jobs, or for lookups. */
function findHost(
  sources: Sources,
  option: 'baseUrl' | 'lookupBaseUrl',
  region: Found<string>,
  ignore: Ignore,
): Found<string | null> {
  const { world, flags } = sources;
  const { env, config: place, accountConfig: key } = GLOBAL[option];
  const [flag, given] = [spelled(option), flags[option]];
  const host = (text: string, from: string): string =>
    parseHost(text, from, variable(world, FLAGLESS.allowHttp.env));
  if (region.value === 'sandbox') {
    const hint = 'the sandbox is embedded and has its own hosts; leave one of them out';
    if (given !== undefined)
      throw usage(`${flag} cannot be used with region sandbox (${region.origin})`, hint);
    ignore(env, 'region sandbox is embedded and has its own hosts');
    return { value: null, origin: 'embedded' };
  }
  if (given !== undefined) return { value: asUsage(() => host(given, flag)), origin: `flag ${flag}` };
  const chosenBy = (['region', 'account'] as const)
    .flatMap((each) => (flags[each] === undefined ? [] : [`--${each} ${flags[each]}`]))
    .join(' and ');
  const fromEnv = variable(world, env);
  if (fromEnv && !chosenBy) return { value: host(fromEnv, env), origin: `environment ${env}` };
  ignore(env, `${chosenBy} brings its own hosts`);
  // Hosts directly in an account belong to the account's own region, and not to another one that was chosen.
  const own = inFile(sources, 'region')?.value ?? GLOBAL.region.default;
  const direct = own === region.value ? [key] : [];
  const found = inFile(sources, ...direct, place.replace('<name>', region.value));
  if (!found) return { value: null, origin: 'not set' };
  return { value: host(found.value, sourced.placeOf(found)), origin: found.origin };
}

/** The regions of the config file that have a host. */
const regionsWithHost = (sections: readonly Section[]): string[] => {
  const all = sections.flatMap(({ section }) => Object.entries(section.regions ?? {}));
  return [...new Set(all.filter(([, hosts]) => hosts.base_url !== undefined).map(([name]) => name))];
};

/** How to set a host of a region, for the user to complete. */
export const setHost = (region: string, key: (typeof HOSTS)[keyof typeof HOSTS]['key']): Call => ({
  run: ['config', 'set', `regions.${region}.${key}`, 'https://…'],
});

/** The hosts of a region, and what each is called. */
export const HOSTS = {
  baseUrl: { key: 'base_url', name: 'host' },
  lookupBaseUrl: { key: 'lookup_base_url', name: 'lookup host' },
} as const;
type Host = keyof typeof HOSTS;

/** @throws ConfigError with the lines to type */
export function requireHost(
  settings: Pick<Settings, 'region' | 'otherRegions' | Host>,
  which: Host = 'baseUrl',
): string {
  const { region, otherRegions, [which]: found } = settings;
  if (found !== null) return found;
  const regions = which === 'baseUrl' ? otherRegions.map((name) => `--region ${name}`) : [];
  const names = Object.keys(HOSTS) as Host[];
  const missing = names.filter((name) => settings[name] === null);
  const [first, ...or] = missing.map((name) => setHost(region, HOSTS[name].key));
  const these = or.length > 0 ? 'run these with the hosts' : 'run this with the host';
  throw hinted(new ConfigError(`region "${region}" has no ${HOSTS[which].name}, and none is built in`), [
    ...(regions.length > 0 ? [`use a region that has one: ${regions.join(' or ')}`] : []),
    { do: `${regions.length > 0 ? 'or ' : ''}${these} of your account`, ...first!, or },
    'or rehearse with --region sandbox',
  ]);
}
