/**
 * The settings (contract §2), each value with its origin. A value comes from its flag, its environment variable, the
 * account's section of the config file, the top of the file, or its default, in this order.
 */
import { dirname, resolve } from 'node:path';
import { ConfigError, UsageError } from '../../engine/errors.js';
import { NUMBERS } from '../../engine/options.js';
import { hasPassword, stateLocationOf } from '../../engine/state/location.js';
import type { Elsewhere } from '../../engine/state/state.js';
import { hinted } from '../advice/hint.js';
import { camelCase, FLAGLESS, GLOBAL } from '../options/index.js';
import { readPath } from '../options/types.js';
import { readConfig } from './file.js';
import { chooseAccount, chooseRegion, findHost, overriddenRegion, regionsWithHost } from './hosts.js';
import { TOKEN_KEYS } from './keys.js';
import { readToken, Secret } from './secret.js';
import {
  asUsage,
  type Choice,
  configLocation,
  type Found,
  flagOrVariable,
  type ImportDefault,
  inFile,
  property,
  type Section,
  type Settings,
  type SettingsFlags,
  type SettingsWorld,
  type Sources,
  setting,
  stateLocation,
  variable,
} from './sources.js';

/**
 * Reads the config file, and decides the settings of this command.
 * @throws UsageError for a flag; ConfigError for the environment or the file
 */
export async function resolveSettings(world: SettingsWorld, flags: SettingsFlags): Promise<Settings> {
  const { value: path, origin } = configLocation(world, flags);
  const config = await readConfig(path, world, origin === 'default' ? undefined : origin);
  return decideSettings({ world, flags, config });
}

/** Decides the settings, without I/O. @throws UsageError for a flag; ConfigError for the environment or the file */
export function decideSettings(sources: Sources): Settings {
  const { world, flags, config } = sources;
  const account = chooseAccount(sources);
  const own = account && property(config.content.accounts, account.value);
  const sections: Section[] = [
    ...(own ? [{ section: own, prefix: `accounts.${account.value}.` }] : []),
    { section: config.content, prefix: '' },
  ];
  const region = chooseRegion(sources, sections);
  const warnings: string[] = [];
  const ignore = (name: string, why: string): void => {
    if (variable(world, name)) warnings.push(`${name} is ignored: ${why}`);
  };
  if (flags.account !== undefined) {
    const warning = overriddenRegion(flags.account, sections[0]!.section.region, region);
    if (warning !== null) warnings.push(warning);
  }
  const choice = { region, sections, ignore };
  const base = findHost(sources, choice, 'baseUrl');
  const lookup = findHost(sources, choice, 'lookupBaseUrl');
  const token = findToken(sources, choice);
  const { state, stateDir } = findState(sources, sections);
  const imports = importDefaults(config.path, sections);
  const keep = inFile(config.path, sections, 'history.keep');
  const confirm = inFile<boolean>(config.path, sections, 'confirm');
  const timeout =
    flags.requestTimeout === undefined
      ? inFile(config.path, sections, 'request_timeout')
      : { value: flags.requestTimeout, origin: 'flag -o request_timeout' };
  const { requestTimeout } = GLOBAL;
  return {
    account: account?.value ?? null,
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
    timeoutMs: timeout
      ? requestTimeout.type.read(timeout.value, timeout.origin.replace('flag ', ''))
      : requestTimeout.default,
    confirm: confirm?.value ?? false,
    historyKeepMs: keep
      ? FLAGLESS.historyKeep.type.read(keep.value, 'history.keep')
      : NUMBERS.historyKeepMs.default,
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
      ...(keep && { 'history.keep': keep.origin }),
      ...imports.origins,
    },
    warnings,
  };
}

type FoundToken = Found<Secret | null> & {
  command?: NonNullable<Settings['tokenCommand']>;
  file?: NonNullable<Settings['tokenFile']>;
};

function findToken({ world, flags, config }: Sources, choice: Choice): FoundToken {
  const region = choice.region.value;
  // The sandbox uses a token made for this process, so the settings must not contain a real one.
  if (region === 'sandbox') return { value: null, origin: 'embedded' };
  const fileAt = (path: string, origin: string) => ({ value: null, origin, file: { path, origin } });
  // Only the first section counts: the token at the top belongs to no account, or to another one.
  const { section, prefix } = choice.sections[0]!;
  const regional = property(section.regions, region)?.token;
  const { token: inPlain, tokenFile } = FLAGLESS;
  if (flags.account === undefined && (regional === undefined || flags.region === undefined)) {
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
    const key = `${prefix}regions.${region}.token`;
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

function importDefaults(path: string, sections: readonly Section[]) {
  const values: Record<string, ImportDefault> = {};
  const origins: Record<string, string> = {};
  for (const { section, prefix } of [...sections].reverse()) {
    const { interval, import: imports = {} } = section;
    for (const [key, value] of Object.entries({ interval, ...imports })) {
      if (value === undefined) continue;
      const full = key === 'interval' ? key : `import.${key}`;
      values[camelCase(key)] = value as ImportDefault;
      origins[full] = `${path} (${prefix}${full})`;
    }
  }
  return { values, origins };
}

/** A folder holds everything; beside a database, the machine keeps its files in its own folder. */
function findState({ world, flags, config }: Sources, sections: readonly Section[]) {
  const found = flagOrVariable(world, flags, 'state') ?? inFile(config.path, sections, 'state');
  const inFolder = (folder: string, origin: string) => ({
    state: { value: { kind: 'sqlite', folder } as Settings['state'], origin },
    stateDir: { value: folder, origin },
  });
  if (!found) {
    const machine = stateLocation(world);
    return inFolder(machine.value, machine.origin);
  }
  const { value: text, origin } = found;
  const name = setting(found);
  const location = origin.startsWith('flag ')
    ? ofFlag(text, name, world)
    : stateLocationOf(text, name, world);
  if (location.kind === 'sqlite') return inFolder(location.folder, origin);
  const state: Settings['state'] = { kind: 'postgres', url: new Secret(location.url) };
  return { state: { value: state, origin }, stateDir: stateLocation(world) };
}

/** @throws UsageError, also for a password */
function ofFlag(text: string, flag: string, world: Pick<SettingsWorld, 'cwd' | 'platform'>) {
  if (!hasPassword(text)) return asUsage(() => stateLocationOf(text, flag, world));
  throw new UsageError(
    `${flag}: a password on the command line would be visible in ps and in your shell history`,
    { hint: `set ${GLOBAL.state.env} to the URL, or leave the password to PGPASSWORD or a password file` },
  );
}

/** What opening a database needs. */
interface Reach extends Pick<SettingsWorld, 'env'> {
  abort: AbortSignal;
}

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
