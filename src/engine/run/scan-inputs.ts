/**
 * Scans the inputs of an import, or makes the result from a saved plan, which saves a pass over the inputs.
 */

import type { ImportEvent } from '../events.js';
import { kindsOf } from '../model.js';
import type { ImportOptions } from '../options.js';
import { ofFile, type Scanned, scanAll, scansOf } from '../plan/plan.js';
import { isKnownLayout, typeChanges } from '../plan/type-changes.js';
import type { Warning } from '../problems.js';
import { checkScanned, type OpenedInput, type Pool } from '../read/index.js';
import type { ImportDeps } from './deps.js';
import { newRejects } from './failed-requests.js';
import type { OpenRun } from './open-run.js';
import { type Apply, checkScan, scannedByPlan } from './planned.js';
import { Rejecting } from './rejecting.js';
import type { DigestedInput } from './sources.js';

/** Prepares the rejects files of these inputs. A run that continues adds to its earlier files. */
export async function rejectingFor(
  run: OpenRun,
  opened: readonly OpenedInput[],
  options: ImportOptions,
  { cwd, state, rehearsal = false }: ImportDeps,
): Promise<Rejecting> {
  const renewed = options.failed ? newRejects(run.requests) : new Set<number>();
  const before = run.rejectsBefore();
  const written = opened.map((_, index) => (renewed.has(index) ? null : (before[index] ?? null)));
  return Rejecting.open(opened, written, {
    cwd,
    path: options.rejects,
    state,
    run: () => run.id,
    isRehearsal: rehearsal,
  });
}

interface Scanning {
  options: ImportOptions;
  deps: ImportDeps;
  /** The plan to apply, or null. */
  apply: Apply | null;
  /** For a saved plan: the location and digest of each input. Otherwise null. */
  located: readonly DigestedInput[] | null;
  pool: Pool;
  rejecting: Rejecting;
}

/**
 * Scans the inputs, adds rejected rows to the rejects files, and warns of column types that changed since the
 * last import.
 * @throws InputError if an input cannot be read, or does not match the plan; UsageError if no input has the
 * column of a rule
 */
export async function* scanInputs(
  opened: readonly OpenedInput[],
  { deps, options, apply, located, pool, rejecting }: Scanning,
): AsyncGenerator<ImportEvent, Scanned> {
  const planned = apply && located && scannedByPlan(apply.plan, opened, located, options.chunkBytes);
  if (planned) {
    await rejecting.scanned(planned);
    return planned;
  }
  const scanned = yield* scanAll(opened, {
    hashKey: deps.state.secret,
    itemLimitBytes: options.chunkBytes,
    pool,
    signal: deps.stop,
    reject: (input, row) => rejecting.planned(input, row),
  });
  await rejecting.scanned(scanned);
  checkScanned(scanned.inputs, options);
  if (apply) checkScan(apply.plan, scanned);
  const { scope, state } = deps;
  const changes: Warning[] = [];
  const said = new Set<string>();
  for (const kind of scope ? kindsOf(opened) : []) {
    const last = await state.known.columnTypes(scope!, kind);
    changes.push(...typeChanges(last, scansOf(scanned, kind)));
    for (const { opened, scan } of scanned.inputs) {
      if (opened.kind !== kind || !isKnownLayout(last, scan)) continue;
      for (const warning of scan.warnings.filter(isAboutText)) said.add(ofFile(opened, warning).message);
    }
  }
  for (const warning of scanned.warnings) {
    yield { type: 'warning', ...warning, ...(said.has(warning.message) && { isKnown: true as const }) };
  }
  for (const warning of changes) yield { type: 'warning', ...warning };
  return scanned;
}

/** Whether a warning is about text that looks like something else. */
const isAboutText = ({ problem }: Warning): boolean =>
  problem?.code === 'looks_typed' || problem?.code === 'null_markers';
