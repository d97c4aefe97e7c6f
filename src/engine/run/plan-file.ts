/**
 * A saved plan: what it holds for, which is an account of a service, and with `changedOnly` a state as it was when it was
 * made; its file, which is checked before anything is read, and written completely or not at all; and the start of a course
 * that carries it out.
 */
import { createHash, createHmac } from 'node:crypto';
import { resolve } from 'node:path';
import { ProfilesError, UsageError } from '../errors.js';
import { KINDS, type Kind, kindsOf } from '../model.js';
import { type ImportOptions, importNumbers } from '../options.js';
import { fileDigest, planFile, readPlan, type SavedPlan } from '../plan/saved-plan.js';
import { sameScope } from '../state/access.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import { fileTrouble, noRoom, writeTrouble } from '../util/file-trouble.js';
import { readSmallFile } from '../util/read-small-file.js';
import { replaceFile } from '../util/replace-file.js';
import { type FileKind, obstacle } from '../util/written-file.js';
import { valuesOf } from './recorded.js';
import { type ImportDeps, isCarriedOut, ONCE, type Start, startOfRun } from './start.js';

/** What a plan takes down before it reads anything, since others may send while it is made. */
export interface PlanStart {
  number: number;
  /** Of all kinds (`stateMark`). */
  marks: Record<string, string>;
}

/** Starts a plan to save. @throws UsageError if there is no account, or if what it reads could not be read again */
export async function startPlan(
  run: string,
  paths: readonly string[],
  { scope, state, records }: Pick<ImportDeps, 'scope' | 'state' | 'records'>,
): Promise<PlanStart> {
  if (records) throw new UsageError('a plan of records cannot be saved: they could not be read again');
  if (paths.includes('-'))
    throw new UsageError('a plan of stdin (-) cannot be saved: it could not be read again', {
      hint: 'save the input to a file first',
    });
  if (!scope)
    throw new UsageError('a plan is saved for an account: there is no token, and no account has been named');
  const number = await state.runs.numberPlan(run, scope);
  return { number, marks: await stateMark(state, scope, KINDS) };
}

/**
 * The account of the plan: its name, or for an account without a name, a hash of the token, base URL and
 * inputs.
 */
export async function accountOf(
  scope: Scope,
  inputs: readonly { digest: string }[],
  { tokenHash }: Pick<ImportDeps, 'tokenHash'>,
): Promise<Pick<SavedPlan, 'account' | 'account_hash'>> {
  if (!tokenHash) return { account: scope.account };
  return {
    account: null,
    account_hash: await tokenHash([scope.base_url, ...inputs.map(({ digest }) => digest)]),
  };
}

/** Hashes a token with texts, for plans of an account without a name. Hexadecimal. */
export const hashToken = (token: string, texts: readonly string[]): string =>
  createHash('sha256')
    .update(JSON.stringify([token, ...texts]))
    .digest('hex');

const elsewhere = ({ region, account }: SavedPlan, what: string): UsageError =>
  new UsageError(`the plan is for ${what}`, { problem: { code: 'plan_elsewhere', region, account } });

/** Checks the region of a plan, which may be known where another one has no host. @throws UsageError */
export function checkRegion(plan: SavedPlan, here: string): void {
  if (plan.region !== here) throw elsewhere(plan, `region ${plan.region}, not for ${here}`);
}

/** Checks that the plan was made for this service and account. @throws UsageError that names the difference */
async function checkAccount(plan: SavedPlan, deps: Pick<ImportDeps, 'scope' | 'tokenHash'>): Promise<void> {
  const scope = deps.scope!;
  const { base_url, account, account_hash } = plan;
  const here = await accountOf(scope, plan.inputs, deps);
  const named = (one: string | null) => (one === null ? 'an account without a name' : `account ${one}`);
  const refuse = (what: string): never => {
    throw elsewhere(plan, what);
  };
  checkRegion(plan, scope.region);
  if (base_url !== scope.base_url) refuse(`${base_url}, not for ${scope.base_url}`);
  if (account !== here.account) refuse(`${named(account)}, not for ${named(here.account)}`);
  if (account_hash !== here.account_hash)
    refuse('another token: it was made for an account without a name, which is known by its token');
}

/** Identifies a state, also after it was moved. */
export const stateId = (state: Pick<State, 'secret'>): string =>
  createHmac('sha256', state.secret).update('plan').digest('hex').slice(0, 16);

/**
 * Identifies the state, and what was sent and completed so far. With another state, or later, other rows may
 * count as changed.
 */
async function stateMark(state: State, scope: Scope, kinds: readonly Kind[]) {
  const mark: Record<string, string> = { id: stateId(state) };
  for (const kind of kinds) mark[kind] = await state.known.mark(scope, kind);
  return mark;
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
  const refuse = (message: string, hint: string): never => {
    throw new UsageError(message, { hint, problem: { code: 'plan_outdated' } });
  };
  const now = await stateMark(state, scope!, kindsOf(plan.inputs));
  if (now.id !== plan.state.id)
    refuse(
      'this plan was compared with another state',
      'apply it with the state that it was made with, or make a new one',
    );
  const stale = Object.keys(now).find((kind) => plan.state![kind] !== now[kind]);
  if (stale)
    refuse(
      `the plan is out of date: ${stale} have been sent or completed since it was made`,
      'make a new one',
    );
}

/** The start of every plan file. */
const BEGINNING = /^\{\s*"version": \d+,\s*"totals": \{/;

const PLAN: FileKind = { name: 'a plan', isOne: (start) => BEGINNING.test(start.toString('utf8', 0, 100)) };

interface Place {
  cwd: string;
  /** The name of the option, for messages. */
  called: string;
}

/** Checks the file and its folder. It may be new or empty, or an earlier plan. @throws UsageError */
export function checkPlanFile(path: string, { cwd, called }: Place): void {
  const isName = path !== '' && path !== '-';
  const why = isName ? obstacle(resolve(cwd, path), PLAN) : 'it is not the name of a file';
  if (why === null) return;
  throw new UsageError(`${called}: ${path} cannot be written: ${why}`, {
    hint: 'name a new file, or an earlier plan',
  });
}

/**
 * Writes the plan. Only the owner can read it, because it contains values of `set` and `where`.
 * @throws UsageError, OutputError
 */
export async function writePlan(path: string, plan: SavedPlan, { cwd, called }: Place): Promise<void> {
  await replaceFile(resolve(cwd, path), planFile(plan)).catch((error: unknown) => {
    const message = `${called}: ${path} cannot be written: ${writeTrouble(error)}`;
    throw noRoom(path, error) ?? new UsageError(message, { cause: error });
  });
}

/**
 * Reads a plan. `sha256`: that of its file.
 * @throws UsageError if it cannot be read, or is not a plan; InterruptedError
 */
export async function loadPlan(
  path: string,
  { cwd, stop }: { cwd: string; stop: AbortSignal },
): Promise<{ plan: SavedPlan; sha256: string }> {
  if (path === '-') throw new UsageError('a plan is a file, not stdin (-)');
  let bytes: Buffer;
  try {
    bytes = await readSmallFile(resolve(cwd, path), stop);
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path}: the plan cannot be read: ${fileTrouble(code)}`, {
      hint: 'check the path',
      cause: error,
    });
  }
  return { plan: await readPlan(bytes, path), sha256: fileDigest(bytes) };
}

/** The run that carries out this plan: an unfinished one if there is any, otherwise the newest finished one. */
export async function runOfPlan(
  { run, digest }: SavedPlan,
  state: State,
  scope: Scope,
): Promise<StoredRun | undefined> {
  const runs = (await state.runs.all()).filter((known) => {
    const { plan } = known.options as Partial<ImportOptions>;
    // A run that began without this plan may have been saved as it; when it is sent again, the run has another id.
    const isOf = known.run === run || (plan?.run === run && plan.digest === digest);
    return isOf && isCarriedOut(known) && sameScope(known.scope, scope);
  });
  return runs.find(({ finished }) => !finished) ?? runs[0];
}

/** The options that a plan was made with. @throws UsageError for a number out of range */
export function optionsOfPlan(plan: SavedPlan): ImportOptions {
  const options = plan.options as unknown as ImportOptions;
  return {
    ...options,
    ...importNumbers(options),
    paths: plan.inputs.map(({ path }) => path),
    ...{ ...ONCE, full: options.full, checkProperties: false, rejects: null },
    plan: { run: plan.run, digest: plan.digest, created_at: plan.created_at },
  };
}

/**
 * The start and the options of a saved plan, or of its unfinished run.
 * @param inputs those that are elsewhere now @param again sends it although it was applied @param how what differs from its
 * options
 * @returns the run that has ended with it, if nothing is to be sent
 * @throws UsageError if the plan is for another service or account, or has no changes to hold back
 */
export async function startOfPlan(
  plan: SavedPlan,
  { inputs, again, how }: { inputs: readonly string[]; again: boolean; how: Partial<ImportOptions> },
  deps: Pick<ImportDeps, 'state' | 'scope' | 'tokenHash'>,
): Promise<{ start: Start; options: ImportOptions } | { ended: StoredRun }> {
  const { state } = deps;
  await checkAccount(plan, deps);
  const found = await runOfPlan(plan, state, deps.scope!);
  if (!again && found && (found.finished || found.status === 'superseded')) return { ended: found };
  const planned = optionsOfPlan(plan);
  if (found && !found.finished) {
    // The plan contains the private values, so they need not be given again.
    return startOfRun(found, { inputs, values: valuesOf(planned), failed: false }, how, state);
  }
  return {
    start: { from: 'plan', plan, inputs, again: found !== undefined },
    options: { ...planned, waitForLockMs: null, ...how },
  };
}
