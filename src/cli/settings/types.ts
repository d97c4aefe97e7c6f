/** The settings (contract §2), each value with its origin, and what they are read from. */

import type { GLOBAL, RawFlags } from '../options/index.js';
import type { Secret } from './secret.js';

/** A program that prints the token on its first line. It runs when a token is needed (`token-command.ts`). */
export interface TokenCommand {
  words: readonly string[];
  /** The file and the key, for errors. */
  origin: string;
}

/** A file that holds the token. */
export interface TokenFile {
  path: string;
  /** The variable, or the config file and the key, for errors. */
  origin: string;
}

export interface Settings {
  /** Configured name of the account, or null. */
  account: string | null;
  region: string;
  /** True for region `sandbox`: the service is embedded, and this process makes its hosts and token. */
  embedded: boolean;
  /**
   * Without a slash at the end. Null if none is configured: `requireBaseUrl` throws the error with the
   * commands to run.
   */
  baseUrl: string | null;
  lookupBaseUrl: string | null;
  /** Other regions of the config file that have a host. */
  otherRegions: readonly string[];
  /** Null if there is none, and for region `sandbox`, to which a real token is never sent. */
  token: Secret | null;
  /** The program that prints the token. If it is set, `token` is null. */
  tokenCommand: TokenCommand | null;
  /** The file that holds the token. If it is set, `token` is null. It is read when a token is needed. */
  tokenFile: TokenFile | null;
  /** Where runs, jobs, and fingerprints are: a folder, or a URL that may contain a password. */
  state: { kind: 'sqlite'; folder: string } | { kind: 'postgres'; url: Secret };
  /** The folder for this machine's own files: spooled inputs and the sandbox's data. */
  stateDir: string;
  /** Time limit of one HTTP request, in milliseconds. Default 120 s. */
  timeoutMs: number;
  /** Whether to ask before anything is sent. */
  confirm: boolean;
  /** How long rows are kept for `history`, in milliseconds. */
  historyKeepMs: number;
  /**
   * `import.*` of the file: defaults for flags of an import, by camelCase name, with values as in the file.
   */
  importDefaults: Readonly<Record<string, string | number | boolean>>;
  /** The config file, whether or not it exists. */
  configPath: string;
  /** The origin of each value, by its name in `config list`: `region`, `base_url`, `import.chunk_size`, … */
  origins: Readonly<Record<string, string>>;
  /** Warnings to print once, such as an ignored environment variable. */
  warnings: string[];
}

/** The part of the world that settings are read from. `World` and `Context` have it. */
export interface SettingsWorld {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  cwd: string;
  /** Aborted when reading must stop. */
  stop?: AbortSignal;
}

/** The flags that decide settings, as commander names them. */
export type SettingsFlags = Pick<
  RawFlags<typeof GLOBAL>,
  'config' | 'account' | 'region' | 'baseUrl' | 'lookupBaseUrl' | 'state' | 'requestTimeout'
>;
