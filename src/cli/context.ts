/**
 * What a command may touch. Everything outside the program is passed in here: only `world.ts` reads
 * `process`. What is expensive (settings, client, state) is opened when first asked for, so `--help`
 * opens no file, no database and no socket.
 */
import type { Readable } from 'node:stream';
import type { Clock } from '../engine/clock.js';
import type { ClientOptions, ServiceClient } from '../engine/service/client.js';
import type { Scope, State } from '../engine/state/state.js';
import type { Commands } from './again.js';
import type { GLOBAL, RawFlags } from './options/index.js';
import type { TextStream } from './output/terminal.js';
import type { Secret, Settings, SettingsFlags } from './settings/index.js';

export type Input = Readable & { isTTY?: boolean; setRawMode?: (raw: boolean) => unknown };

/** Flags that every command takes (contract §2), as commander names them: false for a `--no-` flag. Durations are still text. */
export type GlobalFlags = RawFlags<typeof GLOBAL>;

/** The embedded service has its own port in every process; its state goes by this name. */
export const EMBEDDED = {
  account: 'sandbox',
  region: 'sandbox',
  base_url: 'embedded',
} as const satisfies Scope;

/** The world as `bin/profiles.js` has it, or as a test makes it. */
export interface World {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  cwd: string;
  stdin: Input;
  stdout: TextStream;
  stderr: TextStream;
  clock: Clock;
  /** Version of Node, such as `20.20.2`. */
  nodeVersion: string;
  /** Processors that this process may use. */
  cores: number;
  /**
   * Stop reading, and let requests in flight finish: at the first Ctrl-C or SIGTERM, whose name is the reason, or if
   * output cannot be written, with the `OutputError` as the reason.
   */
  stop: AbortSignal;
  /** Second Ctrl-C: end now. */
  abort: AbortSignal;
}

/** How polls and lookups are retried (contract §4). Default: as in the client. */
export type ReadRetries = Pick<ClientOptions, 'retries' | 'retryDelayMs' | 'maxRetryAfterMs'>;

export type ClientUse = ReadRetries & { onlyLookups?: boolean };

export interface Context extends World {
  /** Composes commands to paste, with the flags for the settings of this command. */
  commands: Commands;
  flags: GlobalFlags;
  /** Resolved once; throws `ConfigError` or `UsageError`. */
  settings(): Promise<Settings>;
  /** The token. Runs `token_command` once, if it is set. Throws `AuthError`. */
  token(): Promise<Secret>;
  /**
   * One client for the command; its first caller decides the retries of polls and lookups, and whether it is for lookup
   * lists only, which need no other host. With region `sandbox`, it starts the embedded service first. Throws `AuthError`
   * without a token.
   */
  client(use?: ClientUse): Promise<ServiceClient>;
  /** The state database of this machine, opened on first use. Throws `StateError`. */
  state(): Promise<State>;
  /** The scope in the state. Throws `AuthError` if an unnamed account has no token. */
  scope(): Promise<Scope>;
  /** A hash of the token and these texts, by which the same token is recognized. Throws `AuthError` without a token. */
  tokenHash(texts: readonly string[]): Promise<string>;
  /** A warning for people: one line on stderr unless `--quiet`. */
  warn(message: string): void;
  /** The same context with other global flags. It has its own settings, client, and scope, and shares the state. */
  withFlags(flags: SettingsFlags): Context;
  /** Closes what was opened, in reverse order. Called once, by `main`. */
  close(): Promise<void>;
}
