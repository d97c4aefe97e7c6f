/**
 * What a command can use. Everything outside the program is passed in here: only `world.ts` reads `process`.
 * Settings, client, and state are opened when first requested, so `--help` opens no file, no database, and no
 * socket.
 */

import type { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import type { ClientOptions, LogEntry, ServiceClient } from '../engine/service/client.js';
import type { Retry } from '../engine/service/retry.js';
import type { Scope, State } from '../engine/state/state.js';
import type { Clock } from '../engine/util/clock.js';
import { closeAll } from '../engine/util/close-all.js';
import { formatDuration } from '../engine/util/duration.js';
import { Commands } from './advice/commands.js';
import { type Advice, hintText } from './advice/hint.js';
import type { GLOBAL, RawFlags } from './options/index.js';
import { safeHint, safeLine, type TextStream } from './output/terminal.js';
import type { Secret, Settings, SettingsFlags } from './settings/index.js';
import * as chosen from './settings/index.js';

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
  /** Set if an answer has changed the command line that was typed. */
  answered?: Answered;
}

/** `mapping`: the mapping file beside the inputs that is used; null if it is not, undefined if nobody was asked. */
export interface Answered {
  mapping?: string | null;
  /** How a file is read was answered. */
  reading?: true;
}

/** How job polls and lookups are retried (contract §4). Default: as in the client. */
type ReadRetries = Pick<ClientOptions, 'retries' | 'retryDelayMs' | 'maxRetryAfterMs'>;

type ClientUse = ReadRetries & Pick<Partial<ClientOptions>, 'timeoutMs'> & { onlyLookups?: boolean };

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

export function createContext(
  world: World,
  flags: GlobalFlags,
  argv: readonly string[],
  parent?: { context: Context; flags: SettingsFlags },
): Context {
  const closers: (() => void | Promise<void>)[] = [];
  const warn = (advice: Advice): void => {
    const text = hintText(advice, context.commands) ?? '';
    if (!flags.quiet) world.stderr.write(`warning: ${safeHint(text, world.platform)}\n`);
  };

  /** Reports retries of polls and lookups. An import reports retries of its requests with its own events. */
  const onRetry = ({ reason }: Retry, delayMs: number): void => {
    const text = `retry: trying again in ${formatDuration(delayMs)}: ${safeLine(reason)}\n`;
    if (!flags.quiet) world.stderr.write(text);
  };
  const log = (entry: LogEntry): void => void world.stderr.write(`${safeLine(debugLine(entry))}\n`);

  let settled: Settings | null = null;
  const settings = once(async (): Promise<Settings> => {
    const found = await chosen.resolveSettings(world, flags);
    settled = found;
    if (!world.answered) for (const warning of found.warnings) warn(warning); // otherwise they were said
    return found;
  });

  const token = once(async () => chosen.requireToken(await settings(), world));

  const state = once(async (): Promise<State> => {
    const found = await settings();
    const { openState } = await import('../engine/state/state.js');
    const opened = await openState(found.stateDir, world.clock.now, chosen.stateElsewhere(found, world));
    closers.push(() => opened.close());
    return opened;
  });

  const client = once(async ({ onlyLookups = false, ...reads }: ClientUse = {}): Promise<ServiceClient> => {
    const found = await settings();
    const service = found.embedded ? await startEmbedded(found) : await reach(found, onlyLookups);
    const { createClient } = await import('../engine/service/client.js');
    const made = createClient({
      ...{ ...service, timeoutMs: found.timeoutMs, ...reads, onRetry },
      ...{ clock: world.clock, proxy: world.env },
      ...(world.nodeVersion.startsWith('20.') && { compiling: withoutOptimizing }),
      ...(flags.debug && { log }),
    });
    closers.push(() => made.close());
    return made;
  });

  const reach = async (found: Settings, onlyLookups: boolean) => {
    const secret = (await token()).reveal();
    // Where only lookup lists are read, the host of imports is not contacted, and may be missing.
    const baseUrl = chosen.requireHost(found, onlyLookups ? 'lookupBaseUrl' : 'baseUrl');
    return { baseUrl, lookupBaseUrl: found.lookupBaseUrl, token: secret };
  };
  const startEmbedded = async ({ stateDir }: Settings) => {
    const { startSandbox } = await import('../sandbox/sandbox.js');
    // Its token is a random one, made for this process.
    const options = { dataDir: stateDir, clock: world.clock, ports: { eu: null }, ledgerIds: false };
    const sandbox = await startSandbox(options);
    closers.push(() => sandbox.stop());
    return { baseUrl: sandbox.url, lookupBaseUrl: sandbox.lookupUrl, token: sandbox.token };
  };

  const scope = once(async (): Promise<Scope> => {
    const found = await settings();
    if (found.embedded) return EMBEDDED;
    const { account, region } = found;
    const base_url = chosen.requireHost(found);
    const secret = account === null ? (await token()).reveal() : '';
    return (await context.state()).scope({ account, token: secret, region, base_url });
  });

  const context: Context = {
    ...world,
    commands: new Commands({ argv, world, chosen: parent?.flags ?? {}, settings: () => settled }),
    flags,
    settings,
    token,
    client,
    state: parent ? parent.context.state : state,
    scope,
    warn,
    withFlags: (changed) => {
      const own = { context, flags: { ...parent?.flags, ...changed } };
      const child = createContext(world, { ...flags, ...changed }, argv, own);
      closers.push(() => child.close());
      return child;
    },
    close: () => closeAll(closers.reverse()),
  };
  return context;
}

/** A line of `--debug`: never contains a token or a body. */
function debugLine({ method, url, status, duration_ms, request_id, error }: LogEntry): string {
  const outcome = status === null ? (error ?? 'no answer') : String(status);
  return `debug: ${method} ${url} ${outcome} ${Math.round(duration_ms)}ms${request_id ? ` x-request-id ${request_id}` : ''}`;
}

/** Opens something at the first call; later calls return the same. */
function once<A extends unknown[], T>(open: (...how: A) => Promise<T>): (...how: A) => Promise<T> {
  let opened: Promise<T> | undefined;
  return (...how) => {
    opened ??= open(...how);
    return opened;
  };
}

/**
 * Compiles WebAssembly so that it is never optimized. The HTTP parser of undici is one large function. Node
 * 20 optimizes it after a few replies, which takes 100 ms of processor time and 30 MB: more than it saves.
 * Everything is compiled at once, because functions that are compiled later would be optimized. Afterwards,
 * the flags are reset, because V8 rejects cached code that was compiled with other flags, including Node's
 * own.
 */
function withoutOptimizing(compile: () => void): void {
  const flags = ['wasm-dynamic-tiering', 'wasm-tier-up', 'wasm-lazy-compilation'];
  for (const flag of flags) setFlagsFromString(`--no-${flag}`);
  try {
    compile();
  } finally {
    for (const flag of flags) setFlagsFromString(`--${flag}`);
  }
}
