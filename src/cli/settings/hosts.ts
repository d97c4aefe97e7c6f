/** The account, the region, and its hosts. No host is built in (contract §2), so each of them may be missing. */
import { ConfigError, UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import { parseHost } from '../../engine/service/address.js';
import type { Commands } from '../advice/commands.js';
import { type Hint, hinted, toRun } from '../advice/hint.js';
import { FLAGLESS, GLOBAL, spelled } from '../options/index.js';
import type { AccountSection } from './keys.js';
import { NAME, NAME_RULE } from './keys.js';
import type { Settings } from './sources.js';
import {
  asUsage,
  type Choice,
  type Found,
  flagOrVariable,
  inFile,
  property,
  type Section,
  type Sources,
  variable,
} from './sources.js';

/** Regions that exist without an entry in the config file. */
export const BUILT_IN_REGIONS = ['default', 'eu', 'sandbox'] as const;

/**
 * The chosen account, or null. Like the region, it must be known, so that a mistyped `sandbox` never reaches a real
 * service.
 * @throws UsageError or ConfigError if it is not configured
 */
export function chooseAccount({ world, flags, config }: Sources): Found<string> | null {
  const { account: value, accounts } = config.content;
  const found =
    flagOrVariable(world, flags, 'account') ?? (value === undefined ? null : { value, origin: config.path });
  if (!found || property(accounts, found.value)) return found;
  throw unknown('account', found, Object.keys(accounts ?? {}), ({ command }) =>
    toRun('create it with', command('config', 'init', '--account', found.value)),
  );
}

/** The chosen region. @throws UsageError or ConfigError if it is neither built in nor configured */
export function chooseRegion({ world, flags, config }: Sources, sections: readonly Section[]): Found<string> {
  const found = flagOrVariable(world, flags, 'region') ??
    inFile(config.path, sections, 'region') ?? { value: GLOBAL.region.default, origin: 'default' };
  const configured = sections.flatMap(({ section }) => Object.keys(section.regions ?? {}));
  const known = [...new Set([...BUILT_IN_REGIONS, ...configured])];
  if (known.includes(found.value)) return found;
  throw unknown('region', found, known, ({ command }) =>
    toRun(
      `available regions: ${known.join(', ')}; to add this one`,
      `${command('config', 'set', `regions.${found.value}.base_url`)} https://…`,
    ),
  );
}

/**
 * The error for an unknown name: a `UsageError` if a flag gave it, otherwise a `ConfigError`.
 * @param add how to add the name; not for one that cannot be in the config file
 */
function unknown(what: string, found: Found<string>, known: readonly string[], add: Hint): Error {
  const message = `unknown ${what} "${found.value}" (${found.origin})`;
  const like = nearest(found.value, known);
  const hint: Hint = like ? () => `did you mean "${like}"?` : NAME.test(found.value) ? add : () => NAME_RULE;
  return hinted(found.origin.startsWith('flag ') ? new UsageError(message) : new ConfigError(message), hint);
}

/**
 * Compares the region of the account of `--account` with `PROFILES_REGION`, which overrides it; a warning, or null.
 * @throws UsageError if the account's region is the sandbox: rows for a rehearsal could reach a real service
 */
export function overriddenRegion(
  account: string,
  own: string | undefined,
  region: Found<string>,
): string | null {
  if (own === undefined || own === region.value || !region.origin.startsWith('environment ')) return null;
  if (own !== 'sandbox')
    return `PROFILES_REGION=${region.value} overrides ${own}, the region of account ${account}`;
  throw new UsageError(`account "${account}" uses region sandbox, but PROFILES_REGION is ${region.value}`, {
    hint: `unset PROFILES_REGION, or use --region sandbox or --region ${region.value}`,
  });
}

export function findHost(
  { world, flags, config }: Sources,
  { region, sections, ignore }: Choice,
  option: 'baseUrl' | 'lookupBaseUrl',
): Found<string | null> {
  const given = flags[option];
  const flag = spelled(option);
  const { env: name, config: place } = GLOBAL[option];
  const key = option === 'baseUrl' ? 'base_url' : 'lookup_base_url';
  const host = (text: string, from: string): string =>
    parseHost(text, from, variable(world, FLAGLESS.allowHttp.env));
  if (region.value === 'sandbox') {
    if (given !== undefined) {
      throw new UsageError(`${flag} cannot be used with region sandbox (${region.origin})`, {
        hint: 'the sandbox is embedded and has its own hosts; leave one of them out',
      });
    }
    ignore(name, 'region sandbox is embedded and has its own hosts');
    return { value: null, origin: 'embedded' };
  }
  if (given !== undefined) return { value: asUsage(() => host(given, flag)), origin: `flag ${flag}` };
  const chosenBy = (['region', 'account'] as const)
    .flatMap((each) => (flags[each] === undefined ? [] : [`--${each} ${flags[each]}`]))
    .join(' and ');
  const fromEnv = variable(world, name);
  if (fromEnv && !chosenBy) return { value: host(fromEnv, name), origin: `environment ${name}` };
  ignore(name, `${chosenBy} brings its own hosts`);
  // Hosts directly in an account belong to the account's own region, and not to another one that was chosen.
  const own = inFile(config.path, sections, 'region')?.value ?? GLOBAL.region.default;
  for (const { section, prefix } of sections) {
    const direct = own === region.value ? (section as AccountSection)[key] : undefined;
    const text = direct ?? property(section.regions, region.value)?.[key];
    if (text === undefined) continue;
    const dotted = prefix + (direct === undefined ? place.replace('<name>', region.value) : key);
    return { value: host(text, `${config.path}: ${dotted}`), origin: `${config.path} (${dotted})` };
  }
  return { value: null, origin: 'not set' };
}

/** The regions of the config file that have a host. */
export const regionsWithHost = (sections: readonly Section[]): string[] => [
  ...new Set(
    sections.flatMap(({ section: { regions = {} } }) =>
      Object.keys(regions).filter((name) => regions[name]?.base_url !== undefined),
    ),
  ),
];

type Hosts = Pick<Settings, 'region' | 'baseUrl' | 'lookupBaseUrl' | 'otherRegions'>;

/** The two commands that set the hosts of a region, for the user to complete: lines of a hint. */
export const hostLines = (region: string, { command }: Commands): string[] =>
  ['base_url', 'lookup_base_url'].map(
    (key) =>
      `  ${command('config', 'set', `regions.${region}.${key}`, 'https://…').replace("'https://…'", 'https://…')}`,
  );

/** @throws ConfigError with the lines to type */
export const requireBaseUrl = (settings: Hosts): string =>
  settings.baseUrl ?? missingHost(settings.region, 'host', settings.otherRegions);

/** @throws ConfigError with the lines to type */
export const requireLookupBaseUrl = (settings: Hosts): string =>
  settings.lookupBaseUrl ?? missingHost(settings.region, 'lookup host');

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
