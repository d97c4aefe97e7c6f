/** Runs an import, new or resumed, and reports it: what `import` and `resume` share. */

import { resolve } from 'node:path';
import { CanaryError, Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { type ImportDeps, runImport } from '../../engine/import.js';
import type { ImportOptions, InvalidBound } from '../../engine/options.js';
import type { Apply } from '../../engine/run/planned.js';
import { failedOf } from '../../engine/run/retry.js';
import type { ServiceClient } from '../../engine/service/client.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { Scope } from '../../engine/state/state.js';
import type { Context } from '../context.js';
import { eventWords, savedPlanText } from '../messages.js';
import {
  engineValues,
  given,
  REJECTING,
  REPORTING,
  RETRYING,
  SELECTING,
  SENDING,
  type Values,
  valuesOf,
  WAITING,
} from '../options/index.js';
import type { ReportRecorder } from '../output/report/index.js';
import { createReporter } from '../output/reporter.js';
import { heldWords, partialWords } from '../output/summary-text.js';
import { sayReport } from '../output/write.js';
import { hasToken, requireBaseUrl } from '../settings/index.js';
import type { Ending, Flags } from './command.js';
import { importConfirmation } from './confirm.js';
import { offerOf } from './offer.js';
import { readingOptions } from './reading.js';
import { checkPlanFile, writePlan } from './save-plan.js';

export type Form = 'text' | 'json' | 'ndjson';

/** How an import is reported. */
export interface Report {
  form: Form;
  /** Whether cells may be shown where others read them, too. */
  values: boolean;
  /** Of the report page, as it was named. */
  page: string | null;
}

/** @throws UsageError for two forms at once */
export function reportOf(flags: Flags): Report {
  const { reportValues, report = null } = valuesOf(REPORTING, flags);
  return { form: formOf(flags), values: reportValues, page: report };
}

/** @throws UsageError for two forms at once */
function formOf(flags: Flags): Form {
  if (flags.json && flags.ndjson) {
    throw new UsageError('--json and --ndjson cannot be combined', { hint: 'choose one of them' });
  }
  return flags.json ? 'json' : flags.ndjson ? 'ndjson' : 'text';
}

/** The options of an import: flags over the config file's `import.*`. @throws UsageError ConfigError */
export async function importOptions(
  paths: readonly string[],
  flags: Flags,
  context: Context,
): Promise<ImportOptions> {
  const { importDefaults } = await context.settings();
  const reading = await readingOptions(paths, flags, importDefaults, context.cwd);
  const rejecting = valuesOf(REJECTING, { ...importDefaults, ...flags });
  const options = engineValues(
    { ...SELECTING, ...SENDING, ...WAITING, ...RETRYING, ...REJECTING },
    { ...importDefaults, ...flags },
  );
  if (options.full && flags.resume) {
    throw new UsageError('--full and --resume cannot be combined: --full sends everything again', {
      hint: 'choose one of them',
    });
  }
  if (flags.changedOnly && options.full) {
    throw new UsageError('--changed-only and --full cannot be combined', { hint: 'choose one of them' });
  }
  // A flag wins over the config file's import.changed_only.
  const changedOnly = options.changedOnly && !options.full;
  if (flags.refreshAfter !== undefined && !changedOnly) {
    throw new UsageError('--refresh-after has no effect without --changed-only: every row is sent', {
      hint: 'add --changed-only, or leave --refresh-after out',
    });
  }
  if (flags.maxChanged !== undefined && !changedOnly) {
    throw new UsageError('--max-changed has no effect without --changed-only: every row is sent', {
      hint: 'add --changed-only, or leave --max-changed out',
    });
  }
  if (flags.isolate && !options.wait) {
    throw new UsageError('--isolate and --no-wait cannot be combined: it has to see how jobs end', {
      hint: 'leave one out',
    });
  }
  if (flags.isolateJobs !== undefined && !options.isolate) {
    throw new UsageError('--isolate-jobs has no effect without --isolate', { hint: 'add --isolate' });
  }
  if (flags.outcomes !== undefined && options.dryRun) {
    throw new UsageError(
      '--outcomes and --dry-run cannot be combined: nothing becomes of rows in a dry run',
      {
        hint: 'leave one out',
      },
    );
  }
  return {
    ...reading,
    ...options,
    isolate: options.isolate && options.wait,
    changedOnly,
    maxChanged: changedOnly ? options.maxChanged : null,
    invalid: invalidBound(rejecting, flags),
    rejects: rejecting.rejects ?? null,
    outcomes: outcomesFile(given({ outcomes: SENDING.outcomes }, flags).outcomes, context.cwd),
    failed: false,
  };
}

/** Where the plan is to be saved. @throws UsageError where there would be none */
export function savePlanOf({ dryRun, resume, paths }: ImportOptions, flags: Flags): string | undefined {
  const { savePlan } = given({ savePlan: SENDING.savePlan }, flags);
  if (savePlan === undefined) return undefined;
  const refuse = (message: string, hint: string): never => {
    throw new UsageError(message, { hint });
  };
  if (!dryRun)
    refuse('--save-plan saves the plan of a dry run', 'add --dry-run; profiles apply then sends it');
  if (resume)
    refuse('--save-plan and --resume cannot be combined', 'a resume sends what its run has planned');
  if (paths.includes('-')) {
    refuse(
      'a plan of stdin (-) cannot be saved: it could not be read again',
      'save the input to a file first',
    );
  }
  return savePlan;
}

/** A run keeps it for its resume, which may be started elsewhere. @throws UsageError */
export function outcomesFile(path: string | undefined, cwd: string): string | null {
  if (path === undefined) return null;
  if (path !== '-' && path !== '') return resolve(cwd, path);
  throw new UsageError('--outcomes takes the name of a file', { hint: 'such as --outcomes outcomes.csv' });
}

/** `--skip-invalid` is any number; `--max-invalid` is a count or a share of the rows read. */
function invalidBound({ maxInvalid, skipInvalid }: Values<typeof REJECTING>, flags: Flags): InvalidBound {
  // A flag wins over the config file, whichever of the two it is.
  if (flags.maxInvalid === undefined && flags.skipInvalid !== undefined)
    return flags.skipInvalid ? 'any' : 'none';
  return maxInvalid ?? (skipInvalid ? 'any' : 'none');
}

/** @throws ProfilesError what ended the import early, after its summary was reported */
export async function runAndReport(
  options: ImportOptions,
  earlier: StoredRun | null,
  { form, values, page }: Report,
  context: Context,
  {
    scope = null,
    apply = null,
    savePlan,
  }: {
    /** Of a resumed run: its own, even if another token is used now. */
    scope?: Scope | null;
    apply?: Apply | null;
    /** Where the plan of a dry run is saved. */
    savePlan?: string | undefined;
  } = {},
): Promise<ExitCode | Ending> {
  const output = new AbortController();
  const stop = AbortSignal.any([context.stop, output.signal]);
  const { stdout, stderr, env, cwd, flags, clock } = context;
  const base = await importDeps(options, context, scope);
  const offer = earlier || apply ? undefined : offerOf(options, context, () => reporter.pause());
  const confirm = options.dryRun ? undefined : await importConfirmation(context, () => reporter.pause());
  const deps: ImportDeps = { ...base, stop, offer, confirm };
  const recorder = page === null ? null : await recorderOf({ page, values, options, earlier, deps }, context);
  const inWords = eventWords(context.commands, ({ run, status }) => ({
    failed:
      run !== null && (status === 'failed' || status === 'partial') ? failedOf(base.state.requests(run)) : [],
    set: earlier ? setIn(options) : [],
  }));
  const reporter = createReporter({
    mode: form,
    stdout,
    stderr,
    env,
    cwd,
    flags,
    clock,
    reportValues: values,
  });
  if (savePlan !== undefined) {
    await checkPlanFile(savePlan, context);
    deps.savePlan = async (plan) => {
      await writePlan(savePlan, plan, context);
      await reporter.report({
        type: 'notice',
        message: savedPlanText(savePlan, plan.digest, context.commands),
      });
    };
  }
  const follow = async (): Promise<ExitCode | Ending> => {
    const events = runImport(options, deps, earlier, apply);
    for (;;) {
      const next = await events.next();
      if (!next.done) {
        const event = inWords(next.value);
        recorder?.hear(event);
        await reporter.report(event);
        if (reporter.lost()) output.abort(reporter.lost());
        continue;
      }
      const { failure, exit } = next.value;
      // A failed job outranks a wait that timed out (contract §7); the summary shows both.
      if (failure && (exit !== Exit.jobFailed || failure instanceof CanaryError)) throw failure;
      const lost = reporter.lost();
      if (lost) throw lost;
      const { summary } = next.value;
      if (exit === Exit.held) return { exit, message: heldWords(summary) };
      return exit === Exit.rejected ? { exit, message: partialWords(summary) } : exit;
    }
  };
  try {
    return await (recorder ? writingReport(recorder, follow, context) : follow());
  } finally {
    await reporter.close();
  }
}

/** What a run sets for every item, as `--set` takes it. */
const setIn = ({ rules, byKind }: ImportOptions): string[] => [
  ...new Set(
    [rules, byKind?.companies?.rules, byKind?.users?.rules]
      .flatMap((each) => each?.set ?? [])
      .map(([key, value]) => `${key}=${value}`),
  ),
];

/** An address may be signed. */
const withoutQuery = (path: string): string =>
  /^https?:\/\//i.test(path) ? path.replace(/[?#].*$/s, '') : path;

async function recorderOf(
  about: {
    page: string;
    values: boolean;
    options: ImportOptions;
    earlier: StoredRun | null;
    deps: ImportDeps;
  },
  { cwd, clock, commands }: Context,
): Promise<ReportRecorder> {
  const { page, values, options, earlier, deps } = about;
  const { ReportRecorder, reportFile } = await import('../output/report/index.js');
  const where = { file: await reportFile(page, cwd), values, state: deps.state, clock };
  const resumed = earlier !== null;
  return new ReportRecorder(where, {
    service: deps.service,
    paths: options.paths.map(withoutQuery),
    resumed,
    commands,
  });
}

/** An import has its report however it ended. What ended it counts for more than a report that cannot be written. */
async function writingReport<T>(
  recorder: ReportRecorder,
  follow: () => Promise<T>,
  context: Context,
): Promise<T> {
  let result: T;
  try {
    result = await follow();
  } catch (error) {
    await recorder.write(error).then(
      (name) => sayReport(name, context),
      (lost) => context.warn((lost as Error).message),
    );
    throw error;
  }
  await sayReport(await recorder.write(null), context);
  return result;
}

async function importDeps(
  options: ImportOptions,
  context: Context,
  scope: Scope | null,
): Promise<ImportDeps> {
  const settings = await context.settings();
  if (!options.dryRun && !settings.embedded) {
    requireBaseUrl(settings); // fails before a long plan, not after it
    await context.token();
  }
  const known =
    settings.embedded || (settings.baseUrl !== null && (settings.account !== null || hasToken(settings)));
  const { retries, retryDelayMs, maxRetryAfterMs } = options;
  const client = (): Promise<ServiceClient> => context.client({ retries, retryDelayMs, maxRetryAfterMs });
  const base_url = settings.embedded ? (await client()).baseUrl : (settings.baseUrl ?? '');
  return {
    ...context,
    client,
    state: await context.state(),
    scope: scope ?? (known ? await context.scope() : null),
    tokenHash: settings.account === null && !settings.embedded ? context.tokenHash : null,
    service: { account: settings.account, region: settings.region, base_url },
    random: Math.random,
    download: { timeoutMs: settings.timeoutMs, proxy: context.env },
    threads: Math.min(2, context.cores),
    historyKeepMs: settings.historyKeepMs,
  };
}
