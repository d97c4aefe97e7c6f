/** Runs an import, new or resumed, and reports it. Shared by `import`, `apply`, and `resume`. */

import { resolve } from 'node:path';
import { carryOut } from '../../engine/course.js';
import { CanaryError, Exit, ProfilesError, StateError } from '../../engine/errors.js';
import { RunRequests } from '../../engine/model/run-requests.js';
import type { Summary } from '../../engine/model.js';
import type { ImportOptions } from '../../engine/options.js';
import { checkPlanFile, hashToken, writePlan } from '../../engine/run/plan-file.js';
import { conditionsOf, hasSets } from '../../engine/run/recorded.js';
import type { Unsent } from '../../engine/run/rejects-form.js';
import { type ImportDeps, INPUTS, isCarriedOut, type Start } from '../../engine/run/start.js';
import { failedOf, isWithinBound } from '../../engine/run/summary.js';
import { isWebAddress } from '../../engine/service/address.js';
import type { Scope, State } from '../../engine/state/state.js';
import { hinted } from '../advice/hint.js';
import type { Again } from '../advice/next.js';
import type { Context } from '../context.js';
import { whyOf } from '../facts/outcome.js';
import { Hearing } from '../facts/session.js';
import type { Rehearsal } from '../guide/ask.js';
import type { Report } from '../options/index.js';
import { waiting } from '../output/display.js';
import { createReporter } from '../output/reporter.js';
import { requireHost, tokenFrom } from '../settings/index.js';
import { type Ended, pageWriter } from './command.js';
import { importConfirmation, offerOf } from './confirm.js';
import { checkFilesDiffer, flagsIn, invalidIn, setIn } from './import-options.js';

interface More {
  /** Where the plan of a dry run is saved. */
  savePlan?: string | undefined;
  /** Files that the import reads besides its inputs: mapping files, or the plan. It must not write to them. */
  reads?: readonly string[];
  /** Whether a person has already said that it may be sent. */
  isConfirmed?: boolean;
  /** Warnings that this person has seen. */
  seen?: readonly string[] | undefined;
}

/** @throws ProfilesError that ended the import early; its summary has been reported by then */
export async function runAndReport(
  start: Start,
  options: ImportOptions,
  report: Report,
  context: Context,
  { savePlan, reads = [], isConfirmed = false, seen = [] }: More = {},
): Promise<Ended> {
  const { cwd, commands } = context;
  const { rejects, outcomes } = options;
  const { page } = report;
  const files = { '--rejects': rejects, '--outcomes': outcomes, '--report': page, '--save-plan': savePlan };
  checkFilesDiffer(files, cwd);
  const output = new AbortController();
  // A run keeps the scope that it began with, even if the token is another one now.
  const base = await importDeps(options, context, start.from === 'run' ? start.run.scope : null);
  const settings = await context.settings();
  const resumed = start.from === 'run';
  const sendsNothing = options.dryRun || (resumed && start.isSent);
  const pause = (): void => reporter.pause();
  const deps: ImportDeps = {
    ...base,
    reads: [...reads, settings.configPath],
    reportFile: page && resolve(cwd, page),
    stop: AbortSignal.any([context.stop, output.signal]),
    offer: offerOf(options, context, pause),
    confirm: sendsNothing || isConfirmed ? undefined : await importConfirmation(context, pause),
  };
  const paths = options.paths.map((path) => (isWebAddress(path) ? path.replace(/[?#].*$/s, '') : path));
  const about = { paths, resumed, service: base.service };
  const writePage = await pageWriter(report, context);
  const heard = new Hearing(context);
  const writeReport = async (error: unknown): Promise<void> =>
    writePage?.(await heard.session(about, error, base.state));
  const reporter = createReporter(report, context);
  const knownOf = async (summary: Summary) => {
    const { run, status, rows, not_sent } = summary;
    // A state that is gone may be why the import ended: what it recorded is then left out, not the summary.
    const unread = (error: unknown): [] => {
      if (error instanceof StateError) return [];
      throw error;
    };
    const isRead = run !== null && status !== 'completed';
    const requests = isRead ? await base.state.requests.of(run).catch(unread) : [];
    return {
      ...{ requests, plan: savePlan, tokenFrom: tokenFrom(settings) },
      isSent: resumed && start.run.finished && isCarriedOut(start.run),
      ...(not_sent && { again: await unsentFlags(not_sent, base.state, cwd) }),
      failed: status === 'failed' || status === 'partial' ? failedOf(new RunRequests(requests)) : [],
      sendsValid: isWithinBound(rows, options.invalid),
      // A rejects file is imported without the mapping file: its run's rules apply, but not its values.
      set: start.from !== 'inputs' || commands.wasTyped('--mapping') ? setIn(options) : [],
    };
  };
  if (savePlan !== undefined) {
    const file = { cwd, called: '--save-plan' };
    checkPlanFile(savePlan, file);
    deps.savePlan = async (plan) => {
      await writePlan(savePlan, plan, file);
      const message = `saved the plan to ${savePlan} (digest ${plan.digest})`;
      await reporter.report({ type: 'notice', message });
    };
  }
  const follow = async (): Promise<Ended> => {
    const events = carryOut(start, options, deps);
    try {
      let next = await events.next();
      for (; !next.done; next = await events.next()) {
        const { value } = next;
        const event = heard.tell(value, value.type === 'summary' ? await knownOf(value.summary) : undefined);
        const isSeen = value.type === 'warning' && seen.includes(value.message);
        if (!isSeen) await reporter.report(event);
        if (reporter.lost()) output.abort(reporter.lost());
      }
      const { failure, exit, summary } = next.value;
      // A failed job decides before a wait that timed out (contract §7); the summary shows both.
      const ended = failure && (exit !== Exit.jobFailed || failure instanceof CanaryError) ? failure : null;
      const error = ended ?? reporter.lost();
      if (error) throw error;
      return exit === Exit.held || exit === Exit.rejected ? { exit, message: whyOf(summary) } : exit;
    } finally {
      // If reporting has failed, this ends the run, which then releases its locks.
      await events.return(undefined as never);
    }
  };
  try {
    const ended = await follow().catch(async (error: unknown) => {
      const code = error instanceof ProfilesError ? error.problem?.code : undefined;
      const planned = start.from === 'plan' ? start.plan.inputs.map(({ path }) => path) : [];
      if (start.from !== 'inputs') adviseImport(error, { options, savePlan, planned }, context);
      // If `apply` begins again, nothing has been planned by then.
      const isUnreported = ['report_file', 'plan_begun', 'run_not_unfinished'].includes(code ?? '');
      // If both fail, the error of the import is thrown, and the other one becomes a warning.
      if (!isUnreported) await writeReport(error).catch((lost) => context.warn((lost as Error).message));
      throw error;
    });
    await writeReport(null);
    return ended;
  } finally {
    await reporter.close();
  }
}

/** Plans without a lock, and leaves no trace. @throws UsageError; InputError; InterruptedError */
export async function rehearse(options: ImportOptions, context: Context): Promise<Rehearsal> {
  const planned = { ...options, dryRun: true, invalid: 'any', outcomes: null } as const;
  const found: Partial<Rehearsal> = {};
  const savePlan: ImportDeps['savePlan'] = async (saved) => {
    found.saved = saved;
  };
  const deps = { ...(await importDeps(planned, context, null)), rehearsal: true, savePlan };
  return waiting('planning', context, async () => {
    for await (const event of carryOut(INPUTS, planned, deps)) {
      if (event.type === 'plan') found.plan = event.plan;
      if (event.type === 'summary') found.summary = event.summary;
    }
    return found as Rehearsal;
  });
}

/** Fails before a long plan, and not after it. @throws ConfigError without a host; AuthError without a token */
export async function requireService({ dryRun }: ImportOptions, context: Context): Promise<void> {
  const settings = await context.settings();
  if (dryRun || settings.embedded) return;
  requireHost(settings);
  await context.token();
}

/** Hashes the token of an account without a name, to recognize it later; null for one with a name. */
export async function tokenHashOf(context: Context): Promise<ImportDeps['tokenHash']> {
  const { account, embedded } = await context.settings();
  if (account !== null || embedded) return null;
  return async (texts) => hashToken((await context.token()).reveal(), texts);
}

async function importDeps(options: ImportOptions, context: Context, scope: Scope | null) {
  await requireService(options, context);
  const settings = await context.settings();
  const { account, region, embedded, baseUrl, timeoutMs } = settings;
  const isKnown = embedded || (baseUrl !== null && (account !== null || settings.token !== null));
  const { retries, retryDelayMs, maxRetryAfterMs } = options;
  const client = () => context.client({ retries, retryDelayMs, maxRetryAfterMs });
  const base_url = embedded ? (await client()).baseUrl : (baseUrl ?? '');
  return {
    ...{ ...context, client, random: Math.random, threads: Math.min(2, context.cores) },
    state: await context.state(),
    scope: scope ?? (isKnown ? await context.scope() : null),
    tokenHash: await tokenHashOf(context),
    service: { account, region, base_url },
    download: { timeoutMs, proxy: context.env },
  };
}

/** For each run in `not_sent` whose rows flags can read: what `nextSteps` needs. */
async function unsentFlags(notSent: NonNullable<Summary['not_sent']>, state: State, cwd: string) {
  const found = new Map<string, Again>();
  for (const { run, files } of notSent) {
    const record = (await state.rejects.ofRun(run)).find((one) => one.run === run);
    const unsent = record?.unsent as Unsent | undefined;
    const where = unsent ? conditionsOf(state, run, unsent) : null;
    if (!unsent || files.includes('-') || where === null) continue;
    const flags = flagsIn({ ...(unsent.options as ImportOptions), where });
    const isHere = (path: string): boolean => unsent.cwd === cwd || isWebAddress(path);
    const paths = files.map((path) => (isHere(path) ? path : resolve(unsent.cwd, path)));
    if (flags) found.set(run, { paths, flags, sets: hasSets(unsent) });
  }
  return found;
}

/** Adds to the error for a recorded input that has changed, or an old plan, how to import all inputs as they are now. */
function adviseImport(
  error: unknown,
  { options, savePlan, planned }: { options: ImportOptions; savePlan: string | undefined; planned: string[] },
  { commands }: Context,
): void {
  const problem = error instanceof ProfilesError ? error.problem : null;
  const isOld = problem?.code === 'plan_outdated' && !commands.wasTyped('--input');
  const isChanged = problem?.code === 'input_changed' || problem?.code === 'plan_input';
  const { path, paths } = isChanged ? problem : { path: '', paths: isOld ? planned : [] };
  const flags = flagsIn(options);
  if (!paths?.length || paths.includes('-') || flags === null) return;
  const plan = commands.isOf('apply') ? commands.paths[0] : savePlan;
  const plus = [
    ...flags,
    ...invalidIn(options),
    ...setIn(options).flatMap((pair) => ['--set', pair]),
    ...(plan === undefined ? [] : ['--save-plan', plan]),
  ];
  const again = { command: 'import', paths, only: [], plus };
  if (isOld) return void hinted(error as ProfilesError, { do: (error as ProfilesError).hint!, again });
  const moved = `if it is elsewhere now, add --input <new path of ${path}>`;
  const files = paths.length === 1 ? 'the file' : 'the files';
  const otherwise = plan === undefined ? `import ${files} again` : `make a new plan of ${files}`;
  hinted(error as ProfilesError, [{ do: `restore the old content, or ${otherwise}`, again }, moved]);
}
