/**
 * What a command can use. Everything outside the program is passed in here: only `world.ts` reads `process`.
 * Settings, client, and state are opened when first requested, so `--help` opens no file, no database, and no
 * socket.
 */
import type { Readable } from 'node:stream';
import type { ClientOptions, ServiceClient } from '../engine/service/client.js';
import type { Scope, State } from '../engine/state/state.js';
import type { Clock } from '../engine/util/clock.js';
import type { Commands } from './advice/commands.js';
import type { Advice } from './advice/hint.js';
import type { GLOBAL, RawFlags } from './options/index.js';
import type { TextStream } from './output/terminal.js';
import type { Secret } from './settings/secret.js';
import type { Settings, SettingsFlags } from './settings/sources.js';

export type Input = Readable & { isTTY?: boolean; setRawMode?: (raw: boolean) => unknown };

/**
 * Flags that every command takes (contract §2), as commander names them: a `--no-` flag is false if it was
 * given. Durations are still text.
 */
export type GlobalFlags = RawFlags<typeof GLOBAL>;

/**
 * The scope of the embedded service in the state. Its port differs in every process, so `base_url` is a fixed
 * word.
 */
export const EMBEDDED = {
  account: 'sandbox',
  region: 'sandbox',
  base_url: 'embedded',
} as const satisfies Scope;

/** The world outside the program: the process (`worldOf`), or one that a test makes. */
export interface World {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  cwd: string;
  /** Opened when first called, because that takes 3 ms of a start. */
  stdin: () => Input;
  stdout: TextStream;
  stderr: TextStream;
  clock: Clock;
  /** Version of Node, such as `20.20.2`. */
  nodeVersion: string;
  /** Number of processors that this process may use. */
  cores: number;
  /**
   * Aborted when reading must stop while requests in flight finish: at the first Ctrl-C or SIGTERM (the
   * reason is the name of the signal), or if output cannot be written (the reason is the `OutputError`).
   */
  stop: AbortSignal;
  /** Aborted at the second signal: everything must end now. */
  abort: AbortSignal;
}

/** How job polls and lookups are retried (contract §4). Default: as in the client. */
export type ReadRetries = Pick<ClientOptions, 'retries' | 'retryDelayMs' | 'maxRetryAfterMs'>;

export type ClientUse = ReadRetries & { onlyLookups?: boolean };

export interface Context extends World {
  /** Composes commands to paste, with flags that lead to the settings of this command. */
  commands: Commands;
  flags: GlobalFlags;
  /** The settings, resolved once. Throws `ConfigError` or `UsageError`. */
  settings(): Promise<Settings>;
  /** The token. Runs `token_command` once, if it is set. Throws `AuthError`. */
  token(): Promise<Secret>;
  /**
   * One client for the command. The first caller decides how polls and lookups are retried, and whether the client is
   * only for lookup lists, which need no other host. With region `sandbox`, it starts the embedded service
   * first. Throws `AuthError` without a token.
   */
  client(use?: ClientUse): Promise<ServiceClient>;
  /** The state, opened on first use. Throws `StateError`. */
  state(): Promise<State>;
  /**
   * The account, region, and host as the state stores them. Throws `AuthError` if an unnamed account has no
   * token.
   */
  scope(): Promise<Scope>;
  /**
   * A hash of the token and these texts, to recognize the same token later. Throws `AuthError` without a
   * token.
   */
  tokenHash(texts: readonly string[]): Promise<string>;
  /** Prints a warning, or a hint as one, on stderr, unless `--quiet` was given. */
  warn(advice: Advice): void;
  /**
   * The same context with other global flags. It has its own settings, client, and scope, but shares the
   * state.
   */
  withFlags(flags: SettingsFlags): Context;
  /**
   * Closes what was opened, in reverse order. Called once, by `main` or by the context that it was made from.
   */
  close(): Promise<void>;
}
