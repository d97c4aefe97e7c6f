/** What the config subcommands share: they find the file and the key, and change values. */

import { ConfigError, UsageError } from '../../../engine/errors.js';
import { parseHost } from '../../../engine/service/address.js';
import { withoutPassword } from '../../../engine/state/location.js';
import type { Context, GlobalFlags } from '../../context.js';
import { safeHint } from '../../output/safe.js';
import { readConfig, writeConfig } from '../../settings/file.js';
import type { ConfigFile } from '../../settings/keys.js';
import { type Key, parseKey, type Scalar, withValue } from '../../settings/keys.js';
import { Secret } from '../../settings/secret.js';
import { configLocation, type ReadConfig } from '../../settings/sources.js';

/** Reads the config file; a missing one counts as empty. @throws ConfigError */
export function openConfig(context: Context): Promise<ReadConfig> {
  return readConfig(configLocation(context, context.flags).value, context);
}

/**
 * Reads a key from the command line. With `--account prod`, `token` means `accounts.prod.token`.
 * @throws UsageError that names the nearest known key
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

/**
 * The value in a form that is safe to print: the last four characters of a token, and a URL without its
 * password.
 */
export function shown(key: string, value: Scalar): Scalar {
  if (/(^|\.)token$/.test(key)) return String(new Secret(String(value)));
  return /(^|\.)state$/.test(key) ? withoutPassword(String(value)) : value;
}

/** Converts a host to the form in which it is stored. @throws ConfigError that names the key */
export function hostValue(text: string, key: string, context: Context): string {
  return parseHost(text, key, context.env.PROFILES_ALLOW_HTTP);
}

/** Whether the user can be asked: stdin is a terminal, and `--no-input` was not given. */
export const canAsk = ({ stdin, flags }: Context): boolean => stdin().isTTY === true && flags.input !== false;

/** Prints a line on stderr, and a command below it, unless `--quiet` was given. */
export function say(context: Context, line: string): void {
  if (!context.flags.quiet) context.stderr.write(`${safeHint(line, context.platform)}\n`);
}
