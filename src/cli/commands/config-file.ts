/** What the subcommands of `profiles config` share: the file, its keys, and values that must not be on a command line. */
import { addAbortSignal } from 'node:stream';
import { parseHost } from '../../engine/service/address.js';
import { withoutPassword } from '../../engine/state/location.js';
import type { Context, GlobalFlags } from '../context.js';
import { usage } from '../options/index.js';
import { stopOnSignal } from '../output/display.js';
import type { ConfigFile, Key, ReadConfig, Scalar } from '../settings/index.js';
import * as settings from '../settings/index.js';

/** Reads the config file; a missing one counts as empty. @throws ConfigError */
export const openConfig = (context: Context): Promise<ReadConfig> =>
  settings.readConfig(settings.configLocation(context, context.flags).value, context);

/** Reads a key. With `--account prod`, `token` means `accounts.prod.token`. @throws UsageError that names the nearest */
export function givenKey(name: string, { account }: GlobalFlags): Key {
  const isOwn = account !== undefined && name !== 'account' && !name.startsWith('accounts.');
  return settings.asUsage(() => settings.parseKey(isOwn ? `accounts.${account}.${name}` : name));
}

export type Values = Iterable<readonly [path: readonly string[], value: Scalar | undefined]>;

/** Returns the content of the file with these values; `undefined` removes one. */
export function changed({ content }: ReadConfig, values: Values): ConfigFile {
  let after = content;
  for (const [path, value] of values) after = settings.withValue(after, path, value);
  return after;
}

/** Writes the file with these values, and returns its content. @throws ConfigError */
export async function change(config: ReadConfig, values: Values): Promise<ConfigFile> {
  const content = changed(config, values);
  await settings.writeConfig(config.path, content);
  return content;
}

/** The value as it may be printed: the last four characters of a token, and a URL without its password. */
export function shown(key: string, value: Scalar): Scalar {
  if (/(^|\.)token$/.test(key)) return String(new settings.Secret(String(value)));
  return /(^|\.)state$/.test(key) ? withoutPassword(String(value)) : value;
}

/** Converts a host to the form in which it is stored. @throws ConfigError that names the key */
export const hostValue = (text: string, key: string, { env }: Context): string =>
  parseHost(text, key, env.PROFILES_ALLOW_HTTP);

/** In seconds. A CI system may leave stdin open without writing to it; a password manager may first ask the user. */
const PATIENCE_S = 30;

/** Reads all of stdin, once. @throws UsageError if it has not ended after 30 s; InterruptedError */
export function readAll({ stdin, stop, clock }: Pick<Context, 'stdin' | 'stop' | 'clock'>): Promise<string> {
  const late = new AbortController();
  const ended = new AbortController();
  clock.sleep(PATIENCE_S * 1_000, ended.signal).then(
    () => late.abort(),
    () => {}, // it ended in time
  );
  return stopOnSignal({ stop }, async (signal) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of addAbortSignal(AbortSignal.any([signal, late.signal]), stdin())) {
        chunks.push(Buffer.from(chunk as string | Uint8Array));
      }
    } catch (error) {
      if (!late.signal.aborted) throw error;
      const hint = 'redirect a file (< token.txt) or nothing (< /dev/null)';
      throw usage(`no token after ${PATIENCE_S}s: stdin is still open`, hint);
    } finally {
      ended.abort();
    }
    return Buffer.concat(chunks).toString('utf8');
  });
}
