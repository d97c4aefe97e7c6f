/**
 * Applies a saved plan: checks that it still matches the inputs, the account and the state, and turns it into
 * a run (contract §3 "Review before sending").
 */
import { InputError, UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import {
  type CellType,
  type ColumnPlan,
  envelopeBytes,
  type Kind,
  kindsOf,
  MAX_PLAN_AGE_MS,
} from '../model.js';
import { type ImportOptions, importNumbers } from '../options.js';
import { DuplicateFinder } from '../plan/duplicates.js';
import type { RequestTotals } from '../plan/estimate.js';
import type { Scanned } from '../plan/plan.js';
import type { SavedPlan } from '../plan/saved-plan.js';
import type { OpenedInput, Scan } from '../read/index.js';
import type { StoredRun } from '../state/runs.js';
import { sameScope } from '../state/scopes.js';
import type { Scope, State } from '../state/state.js';
import type { RunToBegin } from './begin.js';
import type { ImportDeps } from './deps.js';
import { recordsOf } from './plan-requests.js';
import { accountOf, stateId, stateMark } from './save-plan.js';
import { type DigestedInput, digestInputs } from './sources.js';

/** A plan to apply. */
export interface Apply {
  plan: SavedPlan;
  /** Paths of inputs that are no longer where the plan found them. */
  inputs: readonly string[];
  /**
   * Whether to send a plan again that was already applied. Then no row is left out because another run has
   * sent its id since the plan was made.
   */
  again: boolean;
}

/**
 * Checks that the plan was made for this service and account.
 * @throws UsageError that names the difference
 */
export async function checkAccount(
  plan: SavedPlan,
  deps: Pick<ImportDeps, 'scope' | 'tokenHash'>,
): Promise<void> {
  const scope = deps.scope!;
  const { region, account } = plan;
  const refuse = (what: string): never => {
    throw new UsageError(`the plan is for ${what}`, { problem: { code: 'plan_elsewhere', region, account } });
  };
  if (region !== scope.region) refuse(`region ${region}, not for ${scope.region}`);
  if (plan.base_url !== scope.base_url) refuse(`${plan.base_url}, not for ${scope.base_url}`);
  const here = await accountOf(scope, plan.inputs, deps);
  if (account !== here.account) {
    const name = (one: string | null): string =>
      one === null ? 'an account without a name' : `account ${one}`;
    refuse(`${name(account)}, not for ${name(here.account)}`);
  }
  if (plan.account_hash !== here.account_hash) {
    refuse('another token: it was made for an account without a name, which is known by its token');
  }
}

/** @throws UsageError for a plan that is too old: nothing protects what was verified since from its data */
export function checkAge({ created_at }: SavedPlan, now: number): void {
  if (now - Date.parse(created_at) <= MAX_PLAN_AGE_MS) return;
  throw new UsageError(`the plan is more than 30 days old: it was made at ${created_at}`, {
    hint: 'make a new one',
    problem: { code: 'plan_outdated' },
  });
}

/**
 * Checks that a `changedOnly` plan was made with this state, and that the state has not changed since.
 * @throws UsageError
 */
export async function checkState(
  plan: SavedPlan,
  { state, scope }: Pick<ImportDeps, 'state' | 'scope'>,
): Promise<void> {
  if (!plan.state) return;
  const now = await stateMark(state, scope!, kindsOf(plan.inputs));
  if (now.id !== plan.state.id) {
    throw new UsageError('this plan was compared with another state', {
      hint: 'apply it with the state that it was made with',
      problem: { code: 'plan_outdated' },
    });
  }
  for (const [kind, mark] of Object.entries(now)) {
    if (plan.state[kind] === mark) continue;
    throw new UsageError(`the plan is out of date: ${kind} have been sent or completed since it was made`, {
      hint: 'make a new one',
      problem: { code: 'plan_outdated' },
    });
  }
}

/**
 * The run that applied this plan: an unfinished one if there is any, otherwise the newest finished one.
 * Undefined if the plan was never applied, or nothing was sent.
 */
export async function runOfPlan(
  { run, digest }: SavedPlan,
  state: State,
  scope: Scope,
): Promise<StoredRun | undefined> {
  const runs = (await state.runs.all()).filter((known) => {
    const { plan } = known.options as Partial<ImportOptions>;
    const isOf = plan?.run === run && plan.digest === digest;
    return isOf && known.status !== 'rejected' && known.status !== 'held' && sameScope(known.scope, scope);
  });
  return runs.find(({ finished }) => !finished) ?? runs[0];
}

/**
 * Checks again after the lock was taken: before that, another process may have applied the plan.
 * @param id of the run that is about to begin
 * @throws UsageError
 */
export async function checkStillNew(
  plan: SavedPlan,
  id: string,
  { state, scope }: Pick<ImportDeps, 'state' | 'scope'>,
): Promise<void> {
  const [begun = await runOfPlan(plan, state, scope!)] = await state.runs.all({ run: id });
  if (begun === undefined) return;
  throw new UsageError(`run ${begun.run} of this plan was begun by another process in the meantime`, {
    hint: 'apply it again: that continues the run, or sends nothing if it has finished',
    problem: { code: 'plan_begun' },
  });
}

/** The options that a plan was made with. @throws UsageError for a number out of range */
export function optionsOfPlan(plan: SavedPlan): ImportOptions {
  const options = plan.options as unknown as ImportOptions;
  return {
    ...options,
    ...importNumbers(options),
    paths: plan.inputs.map(({ path }) => path),
    dryRun: false,
    resume: false,
    failed: false,
    checkProperties: false,
    rejects: null,
    plan: { run: plan.run, digest: plan.digest, created_at: plan.created_at },
  };
}

/** The totals of the plan, for an import that does not need to count its requests again. */
export function totalsOfPlan({ inputs, requests: planned, totals }: SavedPlan): RequestTotals {
  const items = new Map<Kind, number>();
  for (const { input, rows } of planned.filter(({ rejected }) => !rejected)) {
    const { kind } = inputs[input]!;
    items.set(kind, (items.get(kind) ?? 0) + rows);
  }
  const { requests, bytes, merged, unchanged } = totals;
  return { exact: true, requests, bytes, merged, unchanged, items };
}

/**
 * Makes the result of a scan from the plan, so that the inputs are read only once. `bytes` and
 * `largestItemBytes` are 0. Null if the plan is not enough: a scan must find out which rows to filter or
 * reject, which identifiers repeat, and which rows have changed.
 */
export function scannedByPlan(
  plan: SavedPlan,
  opened: readonly OpenedInput[],
  located: readonly DigestedInput[],
  chunkBytes: number,
): Scanned | null {
  const { filtered, rejected, duplicates } = plan.totals;
  if (filtered + rejected > 0 || duplicates > 0 || plan.state) return null;
  const inputs = opened.map((input, index) => {
    const { read, types, columns } = plan.inputs[index]!;
    const { digest, marks, size } = located[index]!;
    const found = columns.map((column) => ({ ...column, reason: 'as planned' }) as ColumnPlan);
    const scan = {
      digest,
      marks,
      size,
      rows: { read, filtered: 0, rejected: 0 },
      bytes: 0,
      largestItemBytes: 0,
      columns: found,
      schema: { types: types as CellType[], itemLimitBytes: chunkBytes - envelopeBytes(input.kind) },
      sample: null,
      warnings: [],
      types: found.flatMap(({ key, type }): Scan['types'] =>
        key === null || key === 'user_id' || key === 'company_id' ? [] : [[key, type]],
      ),
    };
    return { opened: input, scan };
  });
  return {
    inputs,
    duplicates: new Map(kindsOf(opened).map((kind) => [kind, new DuplicateFinder()])),
    warnings: [],
  };
}

/** Compares the row counts of a scan with the plan. @throws InputError if they differ */
export function checkScan({ inputs }: SavedPlan, scanned: Scanned): void {
  for (const [index, { opened, scan }] of scanned.inputs.entries()) {
    const { read, filtered, rejected } = inputs[index]!;
    const found = scan.rows;
    if (found.read === read && found.filtered === filtered && found.rejected === rejected) continue;
    throw new InputError(`does not have the ${read} rows of the plan, ${rejected} of them rejected`, {
      file: opened.path,
      problem: { code: 'plan_input', path: opened.path },
    });
  }
}

/** What the run of a plan begins with: its requests, and when their data was read. */
export const runPlanned = (
  { plan, again }: Apply,
  state: Pick<State, 'secret'>,
): NonNullable<RunToBegin['planned']> => ({
  requests: recordsOf(plan),
  made: again ? null : { plan: plan.run, at: plan.created_at, after: madeAfter(plan, state) },
});

const madeAfter = ({ made_after }: SavedPlan, state: Pick<State, 'secret'>): number | null =>
  made_after?.state === stateId(state) ? made_after.number : null;

/**
 * Finds the inputs of a plan: by digest among the named files, otherwise at the path in the plan.
 * @param named files that the user named, which must all be inputs of the plan
 * @param folder returns the run's private folder, for downloads and unpacked archives
 * @throws InputError if an input is missing or has changed, or a named file is not an input; UsageError for
 * stdin
 */
export async function* locateInputs(
  plan: SavedPlan,
  named: readonly string[],
  folder: () => string,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, DigestedInput[]> {
  let copies = 0;
  const read = (path: string) => {
    if (path === '-') throw new UsageError('the inputs of a plan are files, not stdin (-)');
    return digestInputs(path, () => ({ folder, name: `input-${++copies}` }), deps);
  };
  const others: DigestedInput[] = [];
  for (const path of named) others.push(...(yield* read(path)));
  const stray = others.find(({ digest }) => plan.inputs.every(({ sha256 }) => sha256 !== digest));
  if (stray) throw strayInput(stray);
  const inputs: DigestedInput[] = [];
  for (const { path, bytes, sha256 } of plan.inputs) {
    const at = others.findIndex(({ digest }) => digest === sha256);
    if (at >= 0) {
      inputs.push(...others.splice(at, 1));
      continue;
    }
    const problem = { code: 'plan_input', path } as const;
    let found: DigestedInput[];
    try {
      found = yield* read(path);
    } catch (error) {
      throw error instanceof InputError ? new InputError(error.message, { problem, cause: error }) : error;
    }
    const [own] = found;
    if (own?.digest !== sha256 || found.length > 1) {
      const sizes = own && own.size !== bytes ? ` (${own.size} bytes, not ${bytes})` : '';
      throw new InputError(`has changed since the plan was made${sizes}`, { file: path, problem });
    }
    inputs.push(own);
  }
  const [twice] = others;
  if (twice) throw strayInput(twice);
  return inputs;
}

const strayInput = ({ path }: DigestedInput): InputError =>
  new InputError('is not an input of the plan, or its content has changed', {
    file: path,
    hint: 'name the file that the plan was made of, or make a new plan',
  });
