/**
 * Ends an import: writes the outcomes of rows, makes the summary from the records, and records the end of the
 * run.
 */
import { failureAfter, StateLostError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Kind, Plan, Rejection } from '../model.js';
import { type ImportOptions, NUMBERS } from '../options.js';
import type { Scanned } from '../plan/plan.js';
import { submittedRows } from '../state/tally.js';
import type { ImportDeps, ImportResult } from './deps.js';
import type { OpenRun } from './open-run.js';
import { finishOutcomes } from './outcomes.js';
import { refusedRows } from './refused-rows.js';
import type { Rejecting } from './rejecting.js';
import { givenUpWarnings, leftOutWarnings } from './request-warnings.js';
import { type Ending, exitOf, type Facts, FIRST_REJECTIONS, isFinished, summarize } from './summary.js';
import { notSentBefore, notSentWarnings, unsentOf } from './unsent.js';

interface Course {
  run: OpenRun;
  rejecting: Rejecting;
  options: ImportOptions;
  deps: ImportDeps;
  kinds: Kind[];
  /** All warnings that were yielded. The caller adds to this array, also while `conclude` runs. */
  warnings: readonly string[];
  /** The plan to report: for a dry run, and for an import that `maxChanged` holds back. */
  plan: Plan | undefined;
  /** Aborted by a signal, and when `waitTimeoutMs` is over. */
  stop: AbortSignal;
  /** When it began, on the monotonic clock. */
  started: number;
}

export async function* conclude(
  scanned: Scanned,
  end: Ending,
  { run, rejecting, options, deps, kinds, warnings, plan, stop, started }: Course,
): AsyncGenerator<ImportEvent, ImportResult> {
  const { inputs, duplicates } = scanned;
  const files = await rejecting.flush();
  const unlessFailed = (error: unknown): void => void failureAfter(error, end.failure);
  await rejecting.record(unsentOf(scanned, end, options, deps)).catch(unlessFailed);
  const { outcomes } = options;
  const scope = options.dryRun ? deps.scope : run.scope;
  const notSent = (await notSentBefore(scanned, { state: deps.state, scope }).catch(unlessFailed)) ?? [];
  const ending = {
    ...(outcomes == null || options.dryRun
      ? end
      : yield* finishOutcomes(outcomes, run.id, scanned, end, { ...deps, stop })),
    notSent,
  };
  const recorded = !options.dryRun;
  const finished = isFinished(ending);
  const paths = inputs.map(({ opened }) => opened.path);
  const left = leftOutWarnings(ending.records, paths);
  const givenUp = finished ? givenUpWarnings(ending.records, paths) : [];
  for (const message of [...left, ...givenUp, ...notSentWarnings(notSent, scanned)])
    yield { type: 'warning', message };
  // Rows that an earlier session rejected are among them. Without the state, those of this session are enough.
  const refused = await refusedRows(run.id, ending.records, paths, deps.state, FIRST_REJECTIONS).catch(
    () => [],
  );
  const isKnown = ({ file, line }: Rejection): boolean =>
    rejecting.first.some((known) => known.file === file && known.line === line);
  const facts: Facts = {
    run: recorded ? run.id : null,
    kinds,
    service: deps.service,
    inputs: inputs.map((input, at) => ({ ...input, rejects_file: files[at] ?? null })),
    rejected: [...rejecting.first, ...refused.filter((one) => !isKnown(one))].slice(0, FIRST_REJECTIONS),
    causes: rejecting.causes,
    warnings: [...warnings],
    resume: recorded && !finished && !(ending.failure instanceof StateLostError) ? run.id : null,
    plan,
    elapsedMs: deps.clock.monotonic() - started,
  };
  const summary = summarize(ending, facts);
  const { historyKeepMs = NUMBERS.historyKeepMs.default } = deps;
  let { failure } = ending;
  if (recorded) {
    const distinct = (kind: Kind): number =>
      submittedRows(ending.records.filter((r) => inputs[r.input]!.opened.kind === kind)) -
      duplicates.get(kind)!.count;
    const { plan: _, ...kept } = summary; // the plan quotes cells, which the state must not hold
    failure = await run.end(kept, finished, ending.failure, { distinct, historyKeepMs });
  }
  yield { type: 'summary', summary };
  return { summary, exit: exitOf(ending), failure };
}
