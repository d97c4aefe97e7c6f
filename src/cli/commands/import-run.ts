/** Runs an import, new or resumed, and reports it: what `import` and `resume` share. */

import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { type ImportDeps, runImport } from '../../engine/import.js';
import type { ImportOptions } from '../../engine/options.js';
import type { ServiceClient } from '../../engine/service/client.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { Scope } from '../../engine/state/state.js';
import type { Context } from '../context.js';
import { createReporter } from '../output/reporter.js';
import { partialWords } from '../output/summary-text.js';
import { requireBaseUrl, requireToken } from '../settings/index.js';
import type { Ending, Flags } from './command.js';

export { importOptions } from './import-options.js';

export type Form = 'text' | 'json' | 'ndjson';

/** @throws UsageError for two forms at once */
export function formOf(flags: Flags): Form {
  if (flags.json && flags.ndjson) {
    throw new UsageError('--json and --ndjson exclude each other', { hint: 'choose one of them' });
  }
  return flags.json ? 'json' : flags.ndjson ? 'ndjson' : 'text';
}

/** @throws ProfilesError what ended the import early, after its summary was reported */
export async function runAndReport(
  options: ImportOptions,
  earlier: StoredRun | null,
  form: Form,
  context: Context,
  /** Of a resumed run: its own, which another token may stand in for. */
  scope: Scope | null = null,
): Promise<ExitCode | Ending> {
  const output = new AbortController();
  const stop = AbortSignal.any([context.stop, output.signal]);
  const deps = { ...(await importDeps(options, context, scope)), stop };
  const { stdout, stderr, env, cwd, flags, clock } = context;
  const reporter = createReporter({ mode: form, stdout, stderr, env, cwd, flags, clock });
  try {
    const events = runImport(options, deps, earlier);
    for (;;) {
      const next = await events.next();
      if (!next.done) {
        await reporter.report(next.value);
        if (reporter.lost()) output.abort(reporter.lost());
        continue;
      }
      const { failure, exit } = next.value;
      // A failed job outranks a wait that timed out (contract §7); the summary has told of both.
      if (failure && exit !== Exit.jobFailed) throw failure;
      const lost = reporter.lost();
      if (lost) throw lost;
      return exit === Exit.rejected ? { exit, message: partialWords(next.value.summary) } : exit;
    }
  } finally {
    await reporter.close();
  }
}

async function importDeps(
  options: ImportOptions,
  context: Context,
  scope: Scope | null,
): Promise<ImportDeps> {
  const settings = await context.settings();
  if (!options.dryRun && !settings.embedded) {
    requireToken(settings); // told before a long plan, not after it
    requireBaseUrl(settings);
  }
  const known =
    settings.embedded || (settings.baseUrl !== null && (settings.token ?? settings.account) !== null);
  const { retries, retryDelayMs, maxRetryAfterMs } = options;
  const client = (): Promise<ServiceClient> => context.client({ retries, retryDelayMs, maxRetryAfterMs });
  const base_url = settings.embedded ? (await client()).baseUrl : (settings.baseUrl ?? '');
  return {
    ...context,
    client,
    state: await context.state(),
    scope: scope ?? (known ? await context.scope() : null),
    service: { account: settings.account, region: settings.region, base_url },
    random: Math.random,
    threads: Math.min(2, context.cores),
  };
}
