/** The account, the region, and its hosts. No host is built in (contract §2), so each of them has to be set. */

import { ConfigError } from '../../engine/errors.js';
import { parseHost } from '../../engine/service/address.js';
import { didYouMean } from '../../engine/util/nearest.js';
import { type Advice, type Call, hinted } from '../advice/hint.js';
import { FLAGLESS, GLOBAL, spelled, usage } from '../options/index.js';
import { NAME, NAME_RULE } from './keys.js';
import type { Found, Ignore, Section, Settings, Sources } from './sources.js';
import * as sourced from './sources.js';

const { asUsage, find, inFile, variable } = sourced;

/** Regions that exist without an entry in the config file. */
export const BUILT_IN_REGIONS = ['default', 'eu', 'sandbox'] as const;

/**
 * The chosen account, or null. Like the region, it must be known, so that a mistyped `sandbox` never reaches a real
 * service.
 * @throws UsageError or ConfigError if it is not configured
 */
export function chooseAccount({ world, flags, config }: Omit<Sources, 'sections'>): Found<string> | null {
  const { account: value, accounts } = config.content;
  const atTop = value === undefined ? null : { value, origin: config.path };
  const found = sourced.flagOrVariable(world, flags, 'account') ?? atTop;
  if (!found || sourced.property(accounts, found.value)) return found;
  const add = { do: 'create it with', run: ['config', 'init', '--account', found.value] };
  throw unknown('account', found, Object.keys(accounts ?? {}), add);
}

/** The chosen region. @throws UsageError or ConfigError if it is neither built in nor configured */
export function chooseRegion(sources: Sources): Found<string> {
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
export function overriddenRegion(account: string, own: string | undefined, region: Found<string>) {
  const { value, origin } = region;
  if (own === undefined || own === value || !origin.startsWith('environment ')) return null;
  if (own !== 'sandbox') return `PROFILES_REGION=${value} overrides ${own}, the region of account ${account}`;
  const hint = `unset PROFILES_REGION, or use --region sandbox or --region ${value}`;
  throw usage(`account "${account}" uses region sandbox, but PROFILES_REGION is ${value}`, hint);
}

/** The hosts of the region: for imports and jobs, or for lookups. */
export function findHost(
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
export const regionsWithHost = (sections: readonly Section[]): string[] => {
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
