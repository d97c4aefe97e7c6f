/** How the words of `profiles import`'s flags become options. */

import { UsageError } from '../../engine/errors.js';
import { DEFAULTS, type ImportOptions, type InvalidBound } from '../../engine/options.js';
import type { Context } from '../context.js';
import type { Flags } from './command.js';
import { type FlagReader, flagReader } from './flag-reader.js';
import { readingOptions } from './reading-flags.js';

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
  // A flag wins over the config file's import.changed_only.
  const changedOnly = read.flag('changedOnly') && !full;
  if (flags.refreshAfter !== undefined && !changedOnly) {
    throw new UsageError('--refresh-after has no effect without --changed-only: every row is sent', {
      hint: 'add --changed-only, or leave --refresh-after out',
    });
  }
  return {
    ...reading,
    chunkSize: read.count('chunkSize', 1) ?? DEFAULTS.chunkSize,
    chunkBytes: read.bytes('chunkBytes') ?? DEFAULTS.chunkBytes,
    concurrency: read.count('concurrency', 1) ?? DEFAULTS.concurrency,
    wait: flags.wait !== false,
    waitTimeoutMs: read.duration('waitTimeout') ?? null,
    intervalMs: read.duration('interval', 1) ?? null,
    retries: read.count('retries', 0) ?? DEFAULTS.retries,
    retryDelayMs: read.duration('retryDelay') ?? DEFAULTS.retryDelayMs,
    maxRetryAfterMs: read.duration('maxRetryAfter') ?? DEFAULTS.maxRetryAfterMs,
    busyTimeoutMs: read.duration('busyTimeout') ?? DEFAULTS.busyTimeoutMs,
    invalid: invalidBound(read, flags),
    rejects: rejectsPath(read.text('rejects'), paths),
    changedOnly,
    refreshAfterMs: read.duration('refreshAfter', 1) ?? null,
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
