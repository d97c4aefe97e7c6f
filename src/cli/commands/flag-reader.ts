/** Turns the words of flags, or of the config file's `import.*`, into values in units. */
import { parseDuration } from '../../engine/duration.js';
import { UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import { parseBytes } from '../../engine/read/index.js';
import type { Flags } from './command.js';

/** Reads flags by their camelCase name; an absent one is undefined. All throw `UsageError` naming the flag. */
export interface FlagReader {
  text(name: string): string | undefined;
  list(name: string): string[];
  flag(name: string): boolean;
  /** Milliseconds; `least` 1 where nothing is no duration. */
  duration(name: string, least?: 0 | 1): number | undefined;
  bytes(name: string): number | undefined;
  count(name: string, least: number): number | undefined;
  choice<T extends string>(name: string, choices: readonly T[]): T | undefined;
  /** `left=right` of a repeatable flag, cut at the first `=`. */
  pairs(name: string): [left: string, right: string][];
}

export function flagReader(flags: Flags): FlagReader {
  const text = (name: string): string | undefined => {
    const value = flags[name];
    return value === undefined ? undefined : String(value);
  };
  const list = (name: string): string[] => (flags[name] as string[] | undefined) ?? [];
  return {
    text,
    list,
    flag: (name) => flags[name] === true,
    duration: (name, least) => {
      const value = text(name);
      return value === undefined ? undefined : parseDuration(value, spelled(name), least);
    },
    bytes: (name) => {
      const value = text(name);
      return value === undefined ? undefined : parseBytes(value, spelled(name));
    },
    count: (name, least) => {
      const value = text(name);
      if (value === undefined) return undefined;
      if (!/^\d{1,9}$/.test(value) || Number(value) < least) {
        throw new UsageError(`${spelled(name)}: "${value}" is not a whole number of at least ${least}`);
      }
      return Number(value);
    },
    choice: (name, choices) => {
      const value = text(name);
      if (value === undefined) return undefined;
      const found = choices.find((choice) => choice === value);
      if (found !== undefined) return found;
      const like = nearest(value, choices);
      throw new UsageError(`${spelled(name)}: "${value}" is not one of ${choices.join(', ')}`, {
        hint: like ? `did you mean ${like}?` : undefined,
      });
    },
    pairs: (name) =>
      list(name).map((word) => {
        const at = word.indexOf('=');
        if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
        throw new UsageError(`${spelled(name)}: "${word}" is not of the form name=value`, {
          hint: `write ${spelled(name)} name=value`,
        });
      }),
  };
}

/** `chunkSize` as the user wrote it: `--chunk-size`. */
const spelled = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
