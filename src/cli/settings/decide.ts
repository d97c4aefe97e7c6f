/** Decides the settings from flags, environment, and file, without I/O (contract §2). */
import { dirname, resolve } from 'node:path';
import { ConfigError, UsageError } from '../../engine/errors.js';
import { NUMBERS } from '../../engine/options.js';
import { parseHost } from '../../engine/service/address.js';
import { hinted } from '../hint.js';
import { FLAGLESS, GLOBAL, spelled } from '../options/index.js';
import { readPath } from '../options/types.js';
import { chooseAccount, chooseRegion } from './choose.js';
import { type Scalar, TOKEN_KEYS } from './keys.js';
import { asUsage, type Found, variable } from './location.js';
import type { AccountSection } from './schema.js';
import { readToken, type Secret } from './secret.js';
import { camelCase, type Place, places, property, type Sources } from './sources.js';
import { stateSetting } from './state.js';
import type { Settings, TokenCommand, TokenFile } from './types.js';

/** The settings of a command. @throws UsageError for a flag; ConfigError for the environment or the file */
export function decideSettings(sources: Sources): Settings {
  const { world, flags, config } = sources;
  const account = chooseAccount(sources);
  const sections = places(sources, account?.value ?? null);
  const region = chooseRegion(sources, sections);
  const warnings: string[] = [];
  const choice: Choice = {
    account: account?.value ?? null,
    region,
    ownRegion: sections.find(({ section }) => section.region)?.section.region ?? GLOBAL.region.default,
    sections,
    warn: (message) => void warnings.push(message),
    ignore: (name, why) => {
      if (variable(world, name)) warnings.push(`${name} is ignored: ${why}`);
    },
  };
  if (flags.account !== undefined) compareRegions(flags.account, sections[0]!.section.region, choice);
  const base = findHost(sources, choice, 'baseUrl');
  const lookup = findHost(sources, choice, 'lookupBaseUrl');
  const token = findToken(sources, choice);
  const { state, stateDir } = stateSetting(sources, sections);
  const imports = importSettings(config.path, sections);
  const kept = sections.find(({ section }) => section.history?.keep !== undefined);
  const keep = kept?.section.history?.keep;
  const timeout = requestTimeout(sources, sections);
  const confirms = sections.find(({ section }) => section.confirm !== undefined);
  return {
    account: choice.account,
    region: region.value,
    embedded: region.value === 'sandbox',
    baseUrl: base.value,
    lookupBaseUrl: lookup.value,
    otherRegions: regionsWithHost(sections).filter((name) => name !== region.value),
    token: token.value,
    tokenCommand: token.command ?? null,
    tokenFile: token.file ?? null,
    state: state.value,
    stateDir: stateDir.value,
    timeoutMs: timeout.value,
    confirm: confirms?.section.confirm ?? false,
    historyKeepMs:
      keep === undefined
        ? NUMBERS.historyKeepMs.default
        : FLAGLESS.historyKeep.type.read(keep, 'history.keep'),
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
      request_timeout: timeout.origin,
      ...(confirms && { confirm: `${config.path} (${confirms.prefix}confirm)` }),
      ...(kept && { 'history.keep': `${config.path} (${kept.prefix}history.keep)` }),
      ...imports.origins,
    },
    warnings,
  };
}

const regionsWithHost = (sections: readonly Place[]): string[] => [
  ...new Set(
    sections.flatMap(({ section: { regions = {} } }) =>
      Object.keys(regions).filter((name) => regions[name]?.base_url !== undefined),
    ),
  ),
];

function requestTimeout({ flags, config }: Sources, sections: readonly Place[]): Found<number> {
  const { default: value, type } = GLOBAL.requestTimeout;
  const key = 'request_timeout';
  const given = flags.requestTimeout;
  if (given !== undefined) return { value: type.read(given, `-o ${key}`), origin: `flag -o ${key}` };
  const kept = sections.find(({ section }) => section[key] !== undefined);
  if (!kept) return { value, origin: 'default' };
  const origin = `${config.path} (${kept.prefix}${key})`;
  return { value: type.read(kept.section[key]!, origin), origin };
}

interface Choice {
  account: string | null;
  region: Found<string>;
  /**
   * The region in the account's section, otherwise at the top of the file. It applies if no flag or variable
   * overrides it.
   */
  ownRegion: string;
  sections: readonly Place[];
  warn(message: string): void;
  /** Warns that a variable is ignored, if it is set. */
  ignore(variable: string, why: string): void;
}

/**
 * Compares the region of the account of `--account` with `PROFILES_REGION`, which overrides it, with a
 * warning. If the account's region is the sandbox, that is an error: rows for a rehearsal could reach a real
 * service.
 */
function compareRegions(account: string, own: string | undefined, { region, warn }: Choice): void {
  if (own === undefined || own === region.value || !region.origin.startsWith('environment ')) return;
  if (own === 'sandbox') {
    throw new UsageError(`account "${account}" uses region sandbox, but PROFILES_REGION is ${region.value}`, {
      hint: `unset PROFILES_REGION, or use --region sandbox or --region ${region.value}`,
    });
  }
  warn(`PROFILES_REGION=${region.value} overrides ${own}, the region of account ${account}`);
}

function findHost(
  { world, flags, config }: Sources,
  choice: Choice,
  option: 'baseUrl' | 'lookupBaseUrl',
): Found<string | null> {
  const given = flags[option];
  const flag = spelled(option);
  const { env: name, config: place } = GLOBAL[option];
  const key = option === 'baseUrl' ? 'base_url' : 'lookup_base_url';
  const allowHttp = variable(world, FLAGLESS.allowHttp.env);
  const region = choice.region.value;
  if (region === 'sandbox') {
    if (given !== undefined) {
      throw new UsageError(`${flag} cannot be used with region sandbox (${choice.region.origin})`, {
        hint: 'the sandbox is embedded and has its own hosts; leave one of them out',
      });
    }
    choice.ignore(name, 'region sandbox is embedded and has its own hosts');
    return { value: null, origin: 'embedded' };
  }
  if (given !== undefined) {
    return { value: asUsage(() => parseHost(given, flag, allowHttp)), origin: `flag ${flag}` };
  }
  const fromEnv = variable(world, name);
  const chosenBy = [
    ...(flags.region === undefined ? [] : [`--region ${flags.region}`]),
    ...(flags.account === undefined ? [] : [`--account ${flags.account}`]),
  ].join(' and ');
  if (fromEnv && !chosenBy) {
    return { value: parseHost(fromEnv, name, allowHttp), origin: `environment ${name}` };
  }
  choice.ignore(name, `${chosenBy} brings its own hosts`);
  for (const { section, prefix } of choice.sections) {
    // Hosts directly in an account belong to the account's own region, and not to another one that was
    // chosen.
    const direct = choice.ownRegion === region ? (section as AccountSection)[key] : undefined;
    const text = direct ?? property(section.regions, region)?.[key];
    if (text === undefined) continue;
    const dotted = prefix + (direct === undefined ? place.replace('<name>', region) : key);
    return {
      value: parseHost(text, `${config.path}: ${dotted}`, allowHttp),
      origin: `${config.path} (${dotted})`,
    };
  }
  return { value: null, origin: 'not set' };
}

interface FoundToken extends Found<Secret | null> {
  command?: TokenCommand;
  file?: TokenFile;
}

function findToken({ world, flags, config }: Sources, choice: Choice): FoundToken {
  // The sandbox uses a token made for this process, so the settings must not contain a real one.
  if (choice.region.value === 'sandbox') return { value: null, origin: 'embedded' };
  // Only the first section counts: the token at the top belongs to no account, or to another one.
  const { section, prefix } = choice.sections[0]!;
  const regional = property(section.regions, choice.region.value)?.token;
  const isRegional = regional !== undefined && flags.region !== undefined;
  const { token: inPlain, tokenFile } = FLAGLESS;
  if (flags.account === undefined && !isRegional) {
    const token = readToken(variable(world, inPlain.env) ?? '', inPlain.env);
    const file = variable(world, tokenFile.env);
    if (token && file) {
      throw new ConfigError(`${inPlain.env} and ${tokenFile.env} are both set`, {
        hint: 'unset one of them',
      });
    }
    if (token) return { value: token, origin: `environment ${inPlain.env}` };
    if (file)
      return fileAt(resolve(world.cwd, readPath(file, tokenFile.env)), `environment ${tokenFile.env}`);
  } else {
    const flag = flags.account === undefined ? `--region ${flags.region}` : `--account ${flags.account}`;
    for (const { env } of [inPlain, tokenFile]) choice.ignore(env, `${flag} brings its own token`);
  }
  if (regional !== undefined) {
    const key = `${prefix}regions.${choice.region.value}.token`;
    return { value: readToken(regional, `${config.path}: ${key}`), origin: `${config.path} (${key})` };
  }
  const [first, second] = TOKEN_KEYS.filter((key) => section[key] !== undefined);
  if (first && second) {
    throw hinted(
      new ConfigError(`${config.path}: ${prefix}${first} and ${prefix}${second} are both set`),
      ({ command }) =>
        [
          'keep one of them; remove the other:',
          ...[first, second].map((key) => `  ${command('config', 'unset', prefix + key)}`),
        ].join('\n'),
    );
  }
  const origin = `${config.path} (${prefix}${first})`;
  if (section.token_command)
    return { value: null, origin, command: { words: section.token_command, origin } };
  if (section.token_file) return fileAt(resolve(dirname(config.path), section.token_file), origin);
  const token = readToken(section.token ?? '', `${config.path}: ${prefix}token`);
  return token ? { value: token, origin } : { value: null, origin: 'not set' };
}

const fileAt = (path: string, origin: string): FoundToken => ({
  value: null,
  origin,
  file: { path, origin },
});

function importSettings(path: string, sections: readonly Place[]) {
  const values: Record<string, Exclude<Scalar, string[]>> = {};
  const origins: Record<string, string> = {};
  for (const { section, prefix } of [...sections].reverse()) {
    const { interval, import: imports = {} } = section;
    for (const [key, value] of Object.entries({ interval, ...imports })) {
      if (value === undefined) continue;
      const full = key === 'interval' ? key : `import.${key}`;
      values[camelCase(key)] = value as Exclude<Scalar, string[]>; // no import flag is an array
      origins[full] = `${path} (${prefix}${full})`;
    }
  }
  return { values, origins };
}
