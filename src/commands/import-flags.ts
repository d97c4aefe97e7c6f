/** Flags of `profiles import`, and how their words become options. Defaults come from the config file's `import.*`. */
import { type Command, Option } from 'commander';
import type { Context } from '../context.js';
import { UsageError } from '../errors.js';
import { DEFAULTS, type ImportOptions, type InvalidBound } from '../flow/options.js';
import type { Flags } from './command.js';
import { type FlagReader, flagReader } from './flag-reader.js';
import { readingOptions } from './reading-flags.js';

/** Flags that say how requests are sent and followed. */
export function sendingFlags(command: Command): Command {
  command
    .optionsGroup('Sending:')
    .option('--dry-run', 'plan only: print it, send nothing')
    .option('--check-properties', "compare users' keys with the service's user properties")
    .option('--changed-only', 'skip rows that the service has completed already as they are')
    .option('--full', 'forget what was sent, and send everything')
    .option('--resume', 'continue the unfinished import of the same content, if there is one')
    .option('--chunk-size <items>', 'items of a request (default 5000)')
    .option('--chunk-bytes <bytes>', 'bytes of a request (default 4MiB)')
    .option('--concurrency <n>', 'unfinished jobs at a time (default 1)')
    .optionsGroup('Waiting:')
    .option('--no-wait', 'return once everything is accepted')
    .option('--wait-timeout <duration>', 'stop waiting after this; the jobs go on')
    .option('--interval <duration>', 'fixed time between two polls of a job')
    .optionsGroup('When something is wrong:')
    .option('--retries <n>', 'further attempts of a request (default 5)')
    .option('--retry-delay <duration>', 'first backoff (default 1s)')
    .option('--max-retry-after <duration>', 'longest Retry-After that is waited for (default 5m)')
    .option('--busy-timeout <duration>', 'how long a busy service (409) is waited for (default 30m)')
    .option('--skip-invalid', 'send the valid rows, although others are rejected')
    .option('--max-invalid <n|n%>', 'the same up to a bound')
    .option('--continue-on-error', 'go on after a request that the service refused')
    .option('--rejects <path>', 'where rejected rows are written')
    .optionsGroup('Result:')
    .option('--ndjson', 'print events as they happen, one JSON line each');
  // What the config file switches on, a flag switches off.
  for (const flag of ['skip-invalid', 'continue-on-error', 'changed-only', 'check-properties']) {
    command.addOption(new Option(`--no-${flag}`).hideHelp());
  }
  return command;
}

/** @throws UsageError ConfigError */
export async function importOptions(
  paths: readonly string[],
  flags: Flags,
  context: Context,
): Promise<ImportOptions> {
  const { importDefaults } = await context.settings();
  const read = flagReader({ ...importDefaults, ...flags });
  const reading = await readingOptions(paths, flags, importDefaults, context.cwd);
  const full = read.flag('full');
  if (full && flags.resume) {
    throw new UsageError('--full sends everything anew, so there is nothing to --resume', {
      hint: 'choose one of them',
    });
  }
  if (flags.changedOnly && full) {
    throw new UsageError('--changed-only and --full exclude each other', { hint: 'choose one of them' });
  }
  return {
    ...reading,
    chunkSize: read.count('chunkSize', 1) ?? DEFAULTS.chunkSize,
    chunkBytes: read.bytes('chunkBytes') ?? DEFAULTS.chunkBytes,
    concurrency: read.count('concurrency', 1) ?? DEFAULTS.concurrency,
    wait: flags.wait !== false,
    waitTimeoutMs: read.duration('waitTimeout') ?? null,
    intervalMs: read.duration('interval') ?? null,
    retries: read.count('retries', 0) ?? DEFAULTS.retries,
    retryDelayMs: read.duration('retryDelay') ?? DEFAULTS.retryDelayMs,
    maxRetryAfterMs: read.duration('maxRetryAfter') ?? DEFAULTS.maxRetryAfterMs,
    busyTimeoutMs: read.duration('busyTimeout') ?? DEFAULTS.busyTimeoutMs,
    invalid: invalidBound(read, flags),
    rejects: rejectsPath(read.text('rejects'), paths),
    // A flag wins over the config file's import.changed_only.
    changedOnly: read.flag('changedOnly') && !full,
    continueOnError: read.flag('continueOnError'),
    dryRun: read.flag('dryRun'),
    checkProperties: read.flag('checkProperties'),
    full,
    resume: read.flag('resume'),
  };
}

/** `--skip-invalid` is any number; `--max-invalid` is a count or a share of the rows read. */
function invalidBound(read: FlagReader, flags: Flags): InvalidBound {
  // A flag wins over the config file, whichever of the two it is.
  const given = flags.maxInvalid !== undefined;
  if (!given && flags.skipInvalid === true) return 'any';
  if (!given && flags.skipInvalid === false) return 'none';
  const bound = read.text('maxInvalid');
  if (bound === undefined) return read.flag('skipInvalid') ? 'any' : 'none';
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(bound);
  const value = Number(match?.[1]);
  if (!match || (match[2] ? value > 100 : !Number.isSafeInteger(value))) {
    throw new UsageError(`--max-invalid: "${bound}" is not a number of rows or a percentage`, {
      hint: 'write --max-invalid 10 or --max-invalid 2%',
    });
  }
  return match[2] ? { percent: value } : { rows: value };
}

function rejectsPath(path: string | undefined, paths: readonly string[]): string | null {
  if (path !== undefined && paths.length > 1) {
    throw new UsageError('--rejects names one file, and there are several inputs', {
      hint: 'leave it out: each input gets a rejects file of its own name',
    });
  }
  return path ?? null;
}
