/** The sources of settings, after they were read. */
import type { ReadConfig } from './file.js';
import type { Found } from './location.js';
import type { ConfigSection } from './schema.js';
import type { SettingsFlags, SettingsWorld } from './types.js';

export interface Sources {
  world: SettingsWorld;
  flags: SettingsFlags;
  config: ReadConfig;
}

/** A section of the config file to look for a value in. The first section that has the value wins. */
export interface Place {
  section: ConfigSection;
  /** The prefix of its keys: empty at the top, `accounts.prod.` in an account. */
  prefix: string;
}

/** The sections to look in: the chosen account's, then the top. */
export function places(sources: Sources, account: string | null): Place[] {
  const { content } = sources.config;
  const own = account === null ? undefined : property(content.accounts, account);
  return [
    ...(own ? [{ section: own, prefix: `accounts.${account}.` }] : []),
    { section: content, prefix: '' },
  ];
}

/** The first candidate that has a value. */
export function first(candidates: Iterable<[string | undefined, string]>): Found<string> | null {
  for (const [value, origin] of candidates) if (value !== undefined) return { value, origin };
  return null;
}

/** An own property: `constructor` is a possible name. */
export function property<T>(record: Record<string, T> | undefined, name: string): T | undefined {
  return record && Object.hasOwn(record, name) ? record[name] : undefined;
}

/** `chunkSize` for `chunk_size`: the name under which commander stores `--chunk-size`. */
export function camelCase(key: string): string {
  return key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
