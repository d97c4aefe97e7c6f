/** From flags, environment and file to settings (contract §2). `decide` is pure; `resolveSettings` reads. */
import { readFile, stat } from 'node:fs/promises';
import { parseDuration } from '../duration.js';
import { ConfigError, UsageError } from '../errors.js';
import { nearest } from '../nearest.js';
import { fileTrouble, type ReadConfig, readConfig, refuseExposed } from './file.js';
import { parseHost } from './host.js';
import { configLocation, type Found, stateLocation, variable } from './location.js';
import type { ConfigSection } from './schema.js';
import { readToken, type Secret } from './secret.js';
import type { Settings } from './types.js';
import type { SettingsFlags, SettingsWorld } from './world.js';

const DEFAULT_TIMEOUT_MS = 120_000;
/** Regions that need no entry in the file to be a region. */
export const BUILT_IN_REGIONS = ['default', 'eu', 'sandbox'] as const;

/**
 * Settings of this command, each value with its origin.
 * @throws UsageError for a flag, ConfigError for the environment or the file
 */
export async function resolveSettings(world: SettingsWorld, flags: SettingsFlags): Promise<Settings> {
  const location = configLocation(world, flags);
  const named = location.origin === 'default' ? undefined : location.origin;
  const config = await readConfig(location.value, world.platform, named);
  const tokenFile = flags.tokenFile === undefined ? null : await readTokenFile(world, flags.tokenFile);
  return decide(world, flags, config, tokenFile);
}

/** The text of `--token-file`. A pipe (`<(…)`) has no mode that matters. */
export async function readTokenFile(world: SettingsWorld, name: string): Promise<Secret> {
  const origin = `--token-file ${name}`;
  const { resolve } = await import('node:path');
  const path = resolve(world.cwd, name);
  let text: string;
  try {
    const found = await stat(path);
    if (world.platform !== 'win32' && found.isFile()) {
      refuseExposed(path, found.mode & 0o777, ` (where that cannot be: PROFILES_TOKEN="$(cat ${name})")`);
    }
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new UsageError(`${origin}: ${fileTrouble((error as NodeJS.ErrnoException).code)}`, {
      cause: error,
    });
  }
  const token = readToken(text, origin);
  if (!token) throw new UsageError(`${origin}: the file is empty`);
  return token;
}

/** The decision alone, from what was read. */
export function decide(
  world: SettingsWorld,
  flags: SettingsFlags,
  config: ReadConfig,
  tokenFile: Secret | null,
): Settings {
  const warnings: string[] = [];
  const top = config.content;
  const account = findAccount(world, flags, config);
  const own: ConfigSection = account ? top.accounts![account.value]! : {};
  const ownOrigin = `${config.path} (accounts.${account?.value})`;
  const region = findRegion(world, flags, config, own, ownOrigin);
  const embedded = region.value === 'sandbox';
  /** Flags that bring their own hosts, and for an account their own token. */
  const chosen = [
    ...(flags.region === undefined ? [] : [`--region ${flags.region}`]),
    ...(flags.account === undefined ? [] : [`--account ${flags.account}`]),
  ];
  const ignored = (name: string, because: string): void => {
    if (variable(world, name)) warnings.push(`${name} is ignored: ${because}`);
  };
  if (
    flags.account !== undefined &&
    own.region &&
    region.origin.startsWith('environment') &&
    own.region !== region.value
  ) {
    warnings.push(
      `PROFILES_REGION=${region.value} is used, not the region of account ${flags.account} (${own.region})`,
    );
  }

  const host = (
    key: 'base_url' | 'lookup_base_url',
    flag: '--base-url' | '--lookup-base-url',
    given: string | undefined,
    name: 'PROFILES_BASE_URL' | 'PROFILES_LOOKUP_BASE_URL',
  ): Found<string | null> => {
    if (embedded) {
      if (given !== undefined) {
        throw new UsageError(`${flag} cannot be used with region sandbox (${region.origin})`, {
          hint: 'the sandbox is embedded and has hosts of its own; leave one of the two out',
        });
      }
      ignored(name, 'region sandbox is embedded and has hosts of its own');
      return { value: null, origin: 'embedded' };
    }
    const check = (text: string, what: string): string =>
      parseHost(text, what, variable(world, 'PROFILES_ALLOW_HTTP'));
    if (given !== undefined) return { value: asUsage(() => check(given, flag)), origin: `flag ${flag}` };
    const fromEnv = variable(world, name);
    if (fromEnv && chosen.length === 0) return { value: check(fromEnv, name), origin: `environment ${name}` };
    ignored(name, `${chosen.join(' and ')} brings its own hosts`);
    for (const [section, prefix] of [
      [own, `accounts.${account?.value}.`],
      [top, ''],
    ] as const) {
      const text = lookUp(section.regions, region.value)?.[key];
      if (text === undefined) continue;
      const dotted = `${prefix}regions.${region.value}.${key}`;
      return { value: check(text, `${config.path}: ${dotted}`), origin: `${config.path} (${dotted})` };
    }
    return { value: null, origin: 'not set' };
  };
  const baseUrl = host('base_url', '--base-url', flags.baseUrl, 'PROFILES_BASE_URL');
  const lookupBaseUrl = host(
    'lookup_base_url',
    '--lookup-base-url',
    flags.lookupBaseUrl,
    'PROFILES_LOOKUP_BASE_URL',
  );

  const findToken = (): Found<Secret | null> => {
    if (embedded) return { value: null, origin: 'embedded' };
    if (tokenFile) return { value: tokenFile, origin: 'flag --token-file' };
    if (flags.account === undefined) {
      const token = readToken(world.env.PROFILES_TOKEN ?? '', 'PROFILES_TOKEN');
      if (token) return { value: token, origin: 'environment PROFILES_TOKEN' };
    } else ignored('PROFILES_TOKEN', `--account ${flags.account} brings its own token`);
    // The token at the top is another account's: with a named account it is never used.
    const [section, dotted] = account ? [own, `accounts.${account.value}.token`] : [top, 'token'];
    const token = section.token === undefined ? null : readToken(section.token, `${config.path}: ${dotted}`);
    return token
      ? { value: token, origin: `${config.path} (${dotted})` }
      : { value: null, origin: 'not set' };
  };
  const token = findToken();

  const state = stateLocation(world, flags);
  const { importDefaults, origins } = importSettings(config, own, ownOrigin);
  return {
    account: account?.value ?? null,
    region: region.value,
    embedded,
    baseUrl: baseUrl.value,
    lookupBaseUrl: lookupBaseUrl.value,
    token: token.value,
    stateDir: state.value,
    timeoutMs: flags.timeout === undefined ? DEFAULT_TIMEOUT_MS : positive(flags.timeout),
    importDefaults,
    configPath: config.path,
    origins: {
      account: account?.origin ?? 'not set',
      region: region.origin,
      base_url: baseUrl.origin,
      lookup_base_url: lookupBaseUrl.origin,
      token: token.origin,
      state_dir: state.origin,
      timeout: flags.timeout === undefined ? 'default' : 'flag --timeout',
      ...origins,
    },
    warnings,
  };
}

function findAccount(world: SettingsWorld, flags: SettingsFlags, config: ReadConfig): Found<string> | null {
  const found = first([
    [flags.account, 'flag --account'],
    [variable(world, 'PROFILES_ACCOUNT'), 'environment PROFILES_ACCOUNT'],
    [config.content.account, config.path],
  ]);
  if (!found) return null;
  const accounts = config.content.accounts ?? {};
  if (Object.hasOwn(accounts, found.value)) return found;
  const like = nearest(found.value, Object.keys(accounts));
  throw wrong(found, `unknown account "${found.value}" (${found.origin}): it is not in ${config.path}`, {
    hint: like ? `did you mean "${like}"?` : `profiles config set accounts.${found.value}.token makes it`,
  });
}

function findRegion(
  world: SettingsWorld,
  flags: SettingsFlags,
  config: ReadConfig,
  own: ConfigSection,
  ownOrigin: string,
): Found<string> {
  const found = first([
    [flags.region, 'flag --region'],
    [variable(world, 'PROFILES_REGION'), 'environment PROFILES_REGION'],
    [own.region, ownOrigin],
    [config.content.region, config.path],
  ]) ?? { value: 'default', origin: 'default' };
  const known = new Set([
    ...BUILT_IN_REGIONS,
    ...Object.keys(config.content.regions ?? {}),
    ...Object.keys(own.regions ?? {}),
  ]);
  if (known.has(found.value)) return found;
  const like = nearest(found.value, known);
  throw wrong(found, `unknown region "${found.value}" (${found.origin})`, {
    hint: like
      ? `did you mean "${like}"?`
      : `regions: ${[...known].join(', ')}; profiles config set regions.<name>.base_url makes another`,
  });
}

/** A mistyped flag is a usage error, anything else a config error. */
function wrong(found: Found<string>, message: string, details: { hint: string }): Error {
  return found.origin.startsWith('flag')
    ? new UsageError(message, details)
    : new ConfigError(message, details);
}

function first(candidates: readonly [string | undefined, string][]): Found<string> | null {
  for (const [value, origin] of candidates) if (value !== undefined) return { value, origin };
  return null;
}

/** An own property: names such as `constructor` are ordinary ones. */
function lookUp<T>(record: Record<string, T> | undefined, name: string): T | undefined {
  return record && Object.hasOwn(record, name) ? record[name] : undefined;
}

function importSettings(
  config: ReadConfig,
  own: ConfigSection,
  ownOrigin: string,
): Pick<Settings, 'importDefaults' | 'origins'> {
  const importDefaults: Record<string, string | number | boolean> = {};
  const origins: Record<string, string> = {};
  for (const [section, origin] of [
    [config.content, config.path],
    [own, ownOrigin],
  ] as const) {
    for (const [key, value] of Object.entries(section.import ?? {})) {
      if (value === undefined) continue;
      importDefaults[camelCase(key)] = value;
      origins[`import.${key}`] = origin;
    }
  }
  return { importDefaults, origins };
}

/** `chunk_size` to `chunkSize`, as commander names `--chunk-size`. */
export function camelCase(key: string): string {
  return key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

function positive(timeout: string): number {
  const ms = parseDuration(timeout, '--timeout');
  if (ms === 0)
    throw new UsageError('--timeout must be more than nothing', { hint: 'write 30s, for example' });
  return ms;
}

function asUsage<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { hint: error.hint });
    throw error;
  }
}
