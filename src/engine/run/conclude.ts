/** The end of an import: outcomes are written, the summary is made of what was recorded, and the run ends. */
import { StateError, StateLostError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Kind, Plan } from '../model.js';
import { type ImportOptions, NUMBERS } from '../options.js';
import type { Scanned } from '../plan/plan.js';
import { submittedRows } from '../send/accounts.js';
import type { ImportDeps, ImportResult } from './deps.js';
import type { OpenRun } from './open-run.js';
import { tellOutcomes } from './outcomes.js';
import type { Rejecting } from './rejecting.js';
import { type Ending, exitOf, givenUpWarnings, isFinished, leftOutWarnings, summarize } from './summary.js';

interface Course {
  run: OpenRun;
  rejecting: Rejecting;
  options: ImportOptions;
  deps: ImportDeps;
  kinds: Kind[];
  /** All that were yielded, those of the end included. */
  warnings: readonly string[];
  /** Of a dry run, and of an import that is held back. */
  plan: Plan | undefined;
  /** When it began, on the monotonic clock. */
  started: number;
}

export async function* conclude(
  scanned: Scanned,
  end: Ending,
  { run, rejecting, options, deps, kinds, warnings, plan, started }: Course,
): AsyncGenerator<ImportEvent, ImportResult> {
  const { inputs, duplicates } = scanned;
  const files = await rejecting.flush(end.failure instanceof StateError);
  const { outcomes } = options;
  const ending =
    outcomes == null || options.dryRun ? end : yield* tellOutcomes(outcomes, run.id, scanned, end, deps);
  const recorded = !options.dryRun;
  const finished = isFinished(ending);
  const paths = inputs.map(({ opened }) => opened.path);
  const left = leftOutWarnings(ending.records, paths);
  const givenUp = finished ? givenUpWarnings(ending.records, paths) : [];
  for (const message of [...left, ...givenUp]) yield { type: 'warning', message };
  const summary = summarize(ending, {
    run: recorded ? run.id : null,
    kinds,
    service: deps.service,
    inputs: inputs.map((input, at) => ({ ...input, rejects_file: files[at] ?? null })),
    rejected: rejecting.first,
    causes: rejecting.causes,
    warnings: [...warnings],
    resume: recorded && !finished && !(ending.failure instanceof StateLostError) ? run.id : null,
    plan,
    elapsedMs: deps.clock.monotonic() - started,
  });
  let { failure } = ending;
  if (recorded) {
    const distinct = (kind: Kind): number =>
      submittedRows(ending.records.filter((r) => inputs[r.input]!.opened.kind === kind)) -
      duplicates.get(kind)!.count;
    const { historyKeepMs = NUMBERS.historyKeepMs.default } = deps;
    const { plan: _, ...kept } = summary; // it has cells
    failure = await run.end(kept, finished, ending.failure, { distinct, historyKeepMs });
  }
  yield { type: 'summary', summary };
  return { summary, exit: exitOf(ending), failure };
}
