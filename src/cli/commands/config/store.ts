/** What the config subcommands share: finding the file and the key, and changing them. */

import { ConfigError, UsageError } from '../../../engine/errors.js';
import { withoutPassword } from '../../../engine/state/location.js';
import type { Context, GlobalFlags } from '../../context.js';
import { safeLine } from '../../output/safe.js';
import {
  configLocation,
  parseHost,
  type ReadConfig,
  readConfig,
  Secret,
  writeConfig,
} from '../../settings/index.js';
import { type Key, parseKey, type Scalar, withValue } from '../../settings/keys.js';
import type { ConfigFile } from '../../settings/schema.js';

/** The current config file; a missing one counts as empty. @throws ConfigError */
export function openConfig(context: Context): Promise<ReadConfig> {
  return readConfig(configLocation(context, context.flags).value, context.platform);
}

/**
 * Reads a key from the command line. With `--account prod`, `token` means `accounts.prod.token`.
 * @throws UsageError naming the nearest known key
 */
export function givenKey(name: string, flags: GlobalFlags): Key {
  const own = flags.account !== undefined && name !== 'account' && !name.startsWith('accounts.');
  try {
    return parseKey(own ? `accounts.${flags.account}.${name}` : name);
  } catch (error) {
    if (error instanceof ConfigError)
      throw new UsageError(error.message, { hint: error.hint, problem: error.problem });
    throw error;
  }
}

export type Values = Iterable<readonly [path: readonly string[], value: Scalar | undefined]>;

/** Returns the content of the file with these values; `undefined` removes one. */
export function changed({ content }: ReadConfig, values: Values): ConfigFile {
  let after = content;
  for (const [path, value] of values) after = withValue(after, path, value);
  return after;
}

/** Writes the file with these values, and returns its content. @throws ConfigError */
export async function change(config: ReadConfig, values: Values): Promise<ConfigFile> {
  const content = changed(config, values);
  await writeConfig(config.path, content);
  return content;
}

/** A value that can be printed: the last four characters of a token, and a URL without its password. */
export function shown(key: string, value: Scalar): Scalar {
  if (/(^|\.)token$/.test(key)) return String(new Secret(String(value)));
  return /(^|\.)state$/.test(key) ? withoutPassword(String(value)) : value;
}

/** A host as it is stored. @throws ConfigError naming the key */
export function hostValue(text: string, key: string, context: Context): string {
  return parseHost(text, key, context.env.PROFILES_ALLOW_HTTP);
}

/** True where the user can be prompted: a terminal, and `--no-input` not given. */
export const canAsk = ({ stdin, flags }: Context): boolean => stdin.isTTY === true && flags.input !== false;

/** One line for people, unless `--quiet`. */
export function say(context: Context, line: string): void {
  if (!context.flags.quiet) context.stderr.write(`${safeLine(line)}\n`);
}
