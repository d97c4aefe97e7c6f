/** `profiles sandbox`: serves until it is stopped. */
import { resolve } from 'node:path';
import { Exit, type ExitCode, UsageError } from '../../../engine/errors.js';
import { nearest } from '../../../engine/nearest.js';
import { isLoopback } from '../../../engine/service/address.js';
import { readLookups, type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/index.js';
import { shellWord } from '../../advice/shell.js';
import type { Context } from '../../context.js';
import { SANDBOX, valuesOf } from '../../options/index.js';
import { writeJson, writeOut } from '../../output/write.js';
import type { Flags } from '../command.js';
import { dataFolder } from './data-folder.js';

export async function serveOptions(
  words: readonly string[],
  flags: Flags,
  context: Context,
): Promise<SandboxOptions> {
  const [word] = words;
  if (word !== undefined) {
    const like = nearest(word, ['list', 'show', 'reset']);
    throw new UsageError(`unknown command "sandbox ${word}"`, {
      hint: like ? `did you mean "profiles sandbox ${like}"?` : 'available subcommands: list, show, reset',
    });
  }
  const { memory, data: _, host, seed, fault = [], lookups, ...given } = valuesOf(SANDBOX, flags);
  const {
    port,
    lookupPort,
    euPort,
    pagePort,
    page,
    controlPort,
    expectToken = null,
    latency,
    ...limits
  } = given;
  if (expectToken !== null && !/^[\x21-\x7e]+$/.test(expectToken)) {
    throw new UsageError('--expect-token contains white space or non-ASCII characters', {
      hint: 'an API key is one word of ASCII characters',
    });
  }
  const asked = { ...limits, latencyMs: latency };
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
    limits: Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)),
    faults: fault,
    ...(lookups === undefined ? {} : { lookups: readLookups(resolve(context.cwd, lookups)) }),
    // Only the control API shows the ledger. Without it, stored identifiers would only use memory.
    ledgerIds: controlPort !== undefined,
  };
}

export async function serve(options: SandboxOptions, context: Context): Promise<ExitCode> {
  const { stderr, flags, stop } = context;
  const sandbox = await startSandbox(options);
  try {
    const { host = '127.0.0.1' } = options;
    if (!isLoopback(host.includes(':') ? `[${host}]` : host)) {
      context.warn(
        `listening on ${host}, which is not loopback: anyone who can reach this machine can ${options.expectToken ? 'try to read and change' : 'read and change'} its data`,
      );
    }
    await printAddresses(sandbox, context);
    if (!flags.quiet) {
      const control = sandbox.controlUrl === null ? '' : `, control ${sandbox.controlUrl}`;
      const page = sandbox.pageUrl === null ? '' : `sandbox: page ${sandbox.pageUrl}\n`;
      const kept = options.dataDir === undefined ? 'in memory' : `in ${options.dataDir}`;
      await writeOut(
        stderr,
        `${page}sandbox: EU region ${sandbox.euUrl}${control}; data ${kept}; press Ctrl-C to stop\n`,
      );
    }
    await aborted(stop);
  } finally {
    await sandbox.stop();
  }
  return Exit.done;
}

async function printAddresses(sandbox: Sandbox, { stdout, flags }: Context): Promise<void> {
  if (flags.json) {
    const { url, euUrl, lookupUrl, controlUrl, pageUrl, token } = sandbox;
    const document = {
      base_url: url,
      eu_base_url: euUrl,
      lookup_base_url: lookupUrl,
      control_url: controlUrl,
      page_url: pageUrl,
      token,
    };
    return writeJson(stdout, JSON.stringify(document, null, 2));
  }
  const lines: [string, string][] = [
    ['PROFILES_BASE_URL', sandbox.url],
    ['PROFILES_LOOKUP_BASE_URL', sandbox.lookupUrl],
    ['PROFILES_TOKEN', sandbox.token],
  ];
  const { hostname } = new URL(sandbox.url);
  if (!isLoopback(hostname)) lines.push(['PROFILES_ALLOW_HTTP', hostname]);
  return writeOut(stdout, lines.map(([name, value]) => `export ${name}=${shellWord(value)}\n`).join(''));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
