/** Opens what a command needs, each thing once, and closes it again. */

import { setFlagsFromString } from 'node:v8';
import type { LogEntry, ReadRetry, ServiceClient } from '../engine/service/client.js';
import type { Scope, State } from '../engine/state/state.js';
import { closeAll } from '../engine/util/close-all.js';
import { formatDuration } from '../engine/util/duration.js';
import { commandsOf } from './advice/commands.js';
import { type Advice, hintText } from './advice/hint.js';
import { type ClientUse, type Context, EMBEDDED, type GlobalFlags, type World } from './context.js';
import { safeHint, safeLine } from './output/safe.js';
import {
  requireBaseUrl,
  requireLookupBaseUrl,
  requireToken,
  resolveSettings,
  type Secret,
  type Settings,
  type SettingsFlags,
  stateElsewhere,
} from './settings/index.js';

export function createContext(
  world: World,
  flags: GlobalFlags,
  argv: readonly string[],
  parent?: { context: Context; chosen: SettingsFlags },
): Context {
  const closers: (() => void | Promise<void>)[] = [];
  const warn = (advice: Advice): void => {
    const text = hintText(advice, context.commands) ?? '';
    if (!flags.quiet) world.stderr.write(`warning: ${safeHint(text, world.platform)}\n`);
  };

  /** Reports retries of polls and lookups. An import reports retries of its requests with its own events. */
  const onRetry = ({ delayMs, reason }: ReadRetry): void => {
    if (!flags.quiet)
      world.stderr.write(`retry: trying again in ${formatDuration(delayMs)}: ${safeLine(reason)}\n`);
  };

  let settled: Settings | null = null;
  const settings = once(async (): Promise<Settings> => {
    const found = await resolveSettings(world, flags);
    settled = found;
    for (const warning of found.warnings) warn(warning);
    return found;
  });

  const token = once(async () => requireToken(await settings(), world));

  const state = once(async (): Promise<State> => {
    const found = await settings();
    const { openState } = await import('../engine/state/state.js');
    const opened = await openState(found.stateDir, world.clock.now, stateElsewhere(found, world));
    closers.push(() => opened.close());
    return opened;
  });

  const client = once(async ({ onlyLookups = false, ...reads }: ClientUse = {}): Promise<ServiceClient> => {
    const found = await settings();
    const service = found.embedded ? await startEmbedded(found) : reach(found, await token(), onlyLookups);
    const { createClient } = await import('../engine/service/client.js');
    const made = createClient({
      ...service,
      timeoutMs: found.timeoutMs,
      ...reads,
      onRetry,
      clock: world.clock,
      proxy: world.env,
      ...(world.nodeVersion.startsWith('20.') ? { compiling: withoutOptimizing } : {}),
      ...(flags.debug
        ? { log: (entry: LogEntry) => world.stderr.write(`${safeLine(debugLine(entry))}\n`) }
        : {}),
    });
    closers.push(() => made.close());
    return made;
  });

  const startEmbedded = async (found: Settings): Promise<Service> => {
    const { startEmbedded: start } = await import('../sandbox/sandbox.js');
    const sandbox = await start({ stateDir: found.stateDir, clock: world.clock });
    closers.push(() => sandbox.stop());
    return { baseUrl: sandbox.url, lookupBaseUrl: sandbox.lookupUrl, token: sandbox.token };
  };

  const scope = once(async (): Promise<Scope> => {
    const found = await settings();
    if (found.embedded) return EMBEDDED;
    const { account, region } = found;
    const base_url = requireBaseUrl(found);
    const secret = account === null ? (await token()).reveal() : '';
    return (await context.state()).scope({ account, token: secret, region, base_url });
  });

  const context: Context = {
    ...world,
    commands: commandsOf({ argv, world, chosen: parent?.chosen ?? {}, settings: () => settled }),
    flags,
    settings,
    token,
    client,
    state: parent ? parent.context.state : state,
    scope,
    tokenHash: async (texts) => {
      const { hashToken } = await import('../engine/run/saved-plans.js'); // it loads the reader
      return hashToken((await token()).reveal(), texts);
    },
    warn,
    withFlags: (changed) => {
      const chosen = { ...parent?.chosen, ...changed };
      const child = createContext(world, { ...flags, ...changed }, argv, { context, chosen });
      closers.push(() => child.close());
      return child;
    },
    close: () => closeAll(closers.reverse()),
  };
  return context;
}

interface Service {
  baseUrl: string;
  lookupBaseUrl: string | null;
  token: string;
}

function reach(settings: Settings, token: Secret, onlyLookups: boolean): Service {
  const { lookupBaseUrl } = settings;
  // Where only lookup lists are read, the host of imports is not contacted, and may be missing.
  const baseUrl = onlyLookups ? requireLookupBaseUrl(settings) : requireBaseUrl(settings);
  return { baseUrl, lookupBaseUrl, token: token.reveal() };
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
  const set = (prefix: '' | 'no-'): void => {
    for (const flag of ['wasm-dynamic-tiering', 'wasm-tier-up', 'wasm-lazy-compilation']) {
      setFlagsFromString(`--${prefix}${flag}`);
    }
  };
  set('no-');
  try {
    compile();
  } finally {
    set('');
  }
}
