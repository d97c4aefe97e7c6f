/** `profiles sandbox`: serves the embedded service until it is stopped, shows its data, or erases it (contract §8). */
import { resolve } from 'node:path';
import { LockedError } from '../../engine/errors.js';
import { KINDS } from '../../engine/model.js';
import { isLoopback } from '../../engine/service/address.js';
import type { HeldLease, State } from '../../engine/state/state.js';
import { count } from '../../engine/util/numbers.js';
import * as embedded from '../../sandbox/index.js';
import { shellWord } from '../advice/shell.js';
import { type Context, EMBEDDED } from '../context.js';
import { SANDBOX, usage, valuesOf } from '../options/index.js';
import { type Flags, print, refuse, say, spec } from './command.js';
import { statePlace } from './recorded.js';
import { dataFolder, list, refuseServerOptions, show } from './sandbox-data.js';

export const command = spec({
  anyWords: true,
  options: async ([word], flags, context) => ({ word, serve: () => serverOptions(flags, context) }),
  run: async ({ word, serve }, context, { command }) =>
    word === undefined ? run(await serve(), context) : refuse(word, command),
  commands: {
    list,
    show,
    reset: spec({
      options: (_, flags, context) => dataFolder(flags, context),
      run: (data, context, { command }) => {
        refuseServerOptions(command);
        return reset(data, context);
      },
    }),
  },
});

async function serverOptions(flags: Flags, context: Context): Promise<embedded.SandboxOptions> {
  const {
    memory,
    data: _,
    host,
    seed,
    fault = [],
    lookups,
    expectToken = null,
    ...given
  } = valuesOf(SANDBOX, flags);
  const { port, lookupPort, euPort, pagePort, page, controlPort, latency, ...limits } = given;
  if (expectToken !== null && !/^[\x21-\x7e]+$/.test(expectToken)) {
    const hint = 'an API key is one word of ASCII characters';
    throw usage('--expect-token contains white space or non-ASCII characters', hint);
  }
  const asked = Object.entries({ ...limits, latencyMs: latency }).filter(([, value]) => value !== undefined);
  return {
    ...(memory ? {} : { dataDir: await dataFolder(flags, context) }),
    host,
    ports: {
      base: port,
      lookup: lookupPort,
      eu: euPort,
      page: page === false ? null : (pagePort ?? '4103 or free'),
      control: controlPort ?? null,
    },
    expectToken,
    clock: context.clock,
    seed,
    limits: Object.fromEntries(asked),
    faults: fault,
    ...(lookups === undefined ? {} : { lookups: embedded.readLookups(resolve(context.cwd, lookups)) }),
    // Only the control API shows the ledger. Without it, stored identifiers would only use memory.
    ledgerIds: controlPort !== undefined,
  };
}

async function run(options: embedded.SandboxOptions, context: Context): Promise<void> {
  const { stop } = context;
  const sandbox = await embedded.startSandbox(options);
  try {
    const { host = '127.0.0.1', expectToken, dataDir } = options;
    if (!isLoopback(host.includes(':') ? `[${host}]` : host)) {
      const can = expectToken ? 'try to read and change' : 'read and change';
      context.warn(
        `listening on ${host}, which is not loopback: anyone who can reach this machine can ${can} its data`,
      );
    }
    await printAddresses(sandbox, context);
    const { controlUrl, pageUrl, euUrl } = sandbox;
    if (pageUrl !== null) await say(context, `sandbox: page ${pageUrl}`);
    const control = controlUrl === null ? '' : `, control ${controlUrl}`;
    const kept = dataDir === undefined ? 'in memory' : `in ${dataDir}`;
    await say(context, `sandbox: EU region ${euUrl}${control}; data ${kept}; press Ctrl-C to stop`);
    await new Promise<void>((resolve) => {
      if (stop.aborted) resolve();
      stop.addEventListener('abort', () => resolve(), { once: true });
    });
  } finally {
    await sandbox.stop();
  }
}

/** Prints the variables that point any client at it. */
function printAddresses(sandbox: embedded.Sandbox, context: Context): Promise<void> {
  const { url, euUrl, lookupUrl, controlUrl, pageUrl, token } = sandbox;
  const { hostname } = new URL(url);
  const variables = {
    PROFILES_BASE_URL: url,
    PROFILES_LOOKUP_BASE_URL: lookupUrl,
    PROFILES_TOKEN: token,
    ...(isLoopback(hostname) ? {} : { PROFILES_ALLOW_HTTP: hostname }),
  };
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}\n`);
  const others = { lookup_base_url: lookupUrl, control_url: controlUrl, page_url: pageUrl, token };
  return print(context, { base_url: url, eu_base_url: euUrl, ...others }, lines.join(''));
}

/**
 * Erases all profiles and jobs of the sandbox, and what the state knows about them.
 * @throws LockedError while an import to the sandbox runs; UsageError for a single region
 */
async function reset(data: string, context: Context): Promise<void> {
  const { clock, flags } = context;
  if (flags.region !== undefined && flags.region !== 'sandbox') {
    throw usage('sandbox reset erases all regions of the sandbox', 'leave --region out');
  }
  // Only imports with `--region sandbox` are in the state, and their data is always in the state directory.
  const isEmbedded = data === (await context.settings()).stateDir && (await statePlace(context)).exists;
  const state = isEmbedded ? await context.state() : null;
  const locks: HeldLease[] = [];
  try {
    if (state) await lock(state, locks);
    const held = embedded.openSandboxData(data, clock);
    const erased = held?.reset() ?? { companies: 0, users: 0, jobs: 0 };
    held?.close();
    const forgotten = (await state?.runs.forgetScope(EMBEDDED)) ?? { runs: 0, jobs: 0 };
    const companies = count(erased.companies, 'company', 'companies');
    const [users, jobs] = [count(erased.users, 'user'), count(erased.jobs, 'job')];
    const runs = forgotten.runs === 0 ? '' : `; forgot ${count(forgotten.runs, 'import')} to it`;
    const text = `erased ${companies}, ${users}, and ${jobs} from ${data}${runs}\n`;
    await print(context, { erased, forgotten, data }, text);
  } finally {
    for (const lock of locks) await lock.release();
  }
}

async function lock(state: State, locks: HeldLease[]): Promise<void> {
  for (const kind of KINDS) {
    const taken = await state.locks.take(EMBEDDED, kind, 'sandbox reset');
    if (taken) locks.push(taken);
    else {
      const holder = (await state.locks.held(EMBEDDED)).find((held) => held.kind === kind)?.holder ?? 'it';
      const hint = 'wait for it to end, or interrupt it';
      throw new LockedError(`an import of ${kind} to the sandbox is running: ${holder}`, { hint });
    }
  }
}
