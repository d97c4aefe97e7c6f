/** Settings (contract §2): flag, then environment, then file, then default, each value with its origin; and what they are read from. */

import type { GLOBAL, RawFlags } from '../options/index.js';
import type { Secret } from './secret.js';

/** A program whose first line of output is the token. It is run when a token is needed (`token-command.ts`). */
export interface TokenCommand {
  words: readonly string[];
  /** File and key, for errors. */
  origin: string;
}

export interface Settings {
  /** Configured name of the account, or null. */
  account: string | null;
  region: string;
  /** True for region `sandbox`: the service is embedded, and the process makes its hosts and token. */
  embedded: boolean;
  /** Without a trailing slash. Null if none is configured: `requireBaseUrl` throws the error with the lines to type. */
  baseUrl: string | null;
  lookupBaseUrl: string | null;
  /** Null if there is none, and for region `sandbox`, to which a real token is never sent. */
  token: Secret | null;
  /** The program that prints the token; then `token` is null. */
  tokenCommand: TokenCommand | null;
  /** Location of runs, jobs, and fingerprints: a folder, or a URL that may contain a password. */
  state: { kind: 'sqlite'; folder: string } | { kind: 'postgres'; url: Secret };
  /** The machine's own files: spooled inputs and the sandbox's data. */
  stateDir: string;
  /** Deadline of one HTTP request, milliseconds. Default 120 s. */
  timeoutMs: number;
  /** Ask before anything is sent. */
  confirm: boolean;
  /** How long rows are kept for `history`, milliseconds. */
  historyKeepMs: number;
  /** `import.*` in the file: defaults for import flags, by camelCase name, with values as in the file. */
  importDefaults: Readonly<Record<string, string | number | boolean>>;
  /** The config file, whether or not it exists. */
  configPath: string;
  /** Where each value came from, by its name in `config list`: `region`, `base_url`, `import.chunk_size`, … */
  origins: Readonly<Record<string, string>>;
  /** Warnings that are shown once, such as an ignored environment variable. */
  warnings: string[];
}

/** The part of the world that settings are read from; `World` and `Context` satisfy it. */
export interface SettingsWorld {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  cwd: string;
}

/** The flags that choose settings, as commander names them. */
export type SettingsFlags = Pick<
  RawFlags<typeof GLOBAL>,
  | 'config'
  | 'account'
  | 'region'
  | 'baseUrl'
  | 'lookupBaseUrl'
  | 'tokenFile'
  | 'state'
  | 'stateDir'
  | 'timeout'
>;
