/** `profiles sandbox`: serves until it is stopped. */
import { resolve } from 'node:path';
import { Exit, type ExitCode, UsageError } from '../../../engine/errors.js';
import { nearest } from '../../../engine/nearest.js';
import { shellWord } from '../../../engine/shell.js';
import { readLookups, type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/index.js';
import type { Context } from '../../context.js';
import { writeJson, writeOut } from '../../output/write.js';
import { isLoopback } from '../../settings/index.js';
import type { Flags } from '../command.js';
import { flagReader } from '../flag-reader.js';
import { dataFolder } from './data-folder.js';

export function serveOptions(words: readonly string[], flags: Flags, context: Context): SandboxOptions {
  const [word] = words;
  if (word !== undefined) {
    const like = nearest(word, ['show', 'reset']);
    throw new UsageError(`sandbox has no subcommand "${word}"`, {
      hint: like ? `did you mean "profiles sandbox ${like}"?` : 'it has show and reset',
    });
  }
  const read = flagReader(flags);
  const port = (name: string, otherwise: number): number => {
    const value = read.count(name, 0) ?? otherwise;
    if (value <= 65_535) return value;
    throw new UsageError(`there is no port ${value}`, { hint: 'ports go up to 65535; 0 picks a free one' });
  };
  const memory = read.flag('memory');
  if (memory && read.text('data') !== undefined) {
    throw new UsageError('--memory and --data exclude each other', { hint: 'leave one out' });
  }
  if (flags.page === false && read.text('pagePort') !== undefined) {
    throw new UsageError('--no-page and --page-port exclude each other', { hint: 'leave one out' });
  }
  const expectToken = read.text('expectToken') ?? null;
  if (expectToken !== null && !/^[\x21-\x7e]+$/.test(expectToken)) {
    throw new UsageError('--expect-token holds white space or characters beyond ASCII', {
      hint: 'an API key is one word',
    });
  }
  const lookups = read.text('lookups');
  const given = {
    latencyMs: read.duration('latency'),
    rowsPerSecond: read.count('rowsPerSecond', 1),
    oneJobAtATime: read.flag('oneJobAtATime'),
    maxItems: read.count('maxItems', 1),
    maxBytes: read.bytes('maxBytes'),
    rateLimit: read.count('rateLimit', 1),
    failJobs: rate(read.text('failJobs')),
  };
  return {
    ...(memory ? {} : { dataDir: dataFolder(flags, context) }),
    host: read.text('host') ?? '127.0.0.1',
    ports: {
      base: port('port', 4100),
      lookup: port('lookupPort', 4101),
      eu: port('euPort', 4102),
      page:
        flags.page === false
          ? null
          : read.text('pagePort') === undefined
            ? '4103 or free'
            : port('pagePort', 0),
      control: read.text('controlPort') === undefined ? null : port('controlPort', 0),
    },
    expectToken,
    clock: context.clock,
    seed: read.count('seed', 0) ?? 1,
    limits: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    faults: read.list('fault'),
    ...(lookups === undefined ? {} : { lookups: readLookups(resolve(context.cwd, lookups)) }),
    // Only the control route shows a ledger; a long rehearsal must not fill memory with identifiers.
    ledgerIds: read.text('controlPort') !== undefined,
  };
}

/** `0.1` or `10%`. */
function rate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const share = /^\d+(\.\d+)?%$/.test(text)
    ? Number(text.slice(0, -1)) / 100
    : /^\d*\.?\d+$/.test(text)
      ? Number(text)
      : Number.NaN;
  if (share >= 0 && share <= 1) return share;
  throw new UsageError(`--fail-jobs: "${text}" is not a rate`, { hint: 'write 0.1 or 10%' });
}

export async function serve(options: SandboxOptions, context: Context): Promise<ExitCode> {
  const { stderr, flags, stop } = context;
  const sandbox = await startSandbox(options);
  try {
    const { host = '127.0.0.1' } = options;
    if (!isLoopback(host.includes(':') ? `[${host}]` : host)) {
      context.warn(
        `it listens on ${host}, not on loopback: whoever reaches this machine can ${options.expectToken ? 'try to read and change' : 'read and change'} what it holds`,
      );
    }
    await printAddresses(sandbox, context);
    if (!flags.quiet) {
      const control = sandbox.controlUrl === null ? '' : `, control ${sandbox.controlUrl}`;
      const page = sandbox.pageUrl === null ? '' : `sandbox: page ${sandbox.pageUrl}\n`;
      const kept = options.dataDir === undefined ? 'in memory' : `in ${options.dataDir}`;
      await writeOut(
        stderr,
        `${page}sandbox: EU region ${sandbox.euUrl}${control}; data ${kept}; Ctrl-C stops it\n`,
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
