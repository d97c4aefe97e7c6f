/** Opens the inputs of an import: companies before users. */

import { dialectOptions } from '../dialect-options.js';
import { UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { CellType } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { SavedPlan } from '../plan/saved-plan.js';
import {
  checkIdentifierKeys,
  checkOpened,
  type InputOptions,
  type OpenedInput,
  openInput,
  type RejectsHead,
  selectIn,
  spoolRecords,
} from '../read/index.js';
import type { StoredRun } from '../state/runs.js';
import type { ImportDeps } from './deps.js';
import { readAgain } from './origin.js';
import { type Apply, checkAccount, locateInputs } from './planned.js';
import { relocate } from './relocate.js';
import { type DigestedInput, expandInputs, fetchSource, type Located, shownInputs } from './sources.js';

/** @throws InputError UsageError NetworkError StateError */
async function* openInputs(
  options: ImportOptions,
  run: string,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, OpenedInput[]> {
  const { records } = deps;
  const sources = records ? [] : await expandInputs(options.paths, deps);
  if (sources.filter(({ from }) => from === 'stdin').length > 1) {
    throw new UsageError('stdin (-) can be read only once', {
      hint: 'use - only once, and pass file names for the other inputs',
    });
  }
  if (options.rejects !== null && sources.length > 1) {
    throw oneRejectsFile();
  }
  const folder = () => deps.state.spools.folder(run);
  const inputs = shownInputs(options.paths);
  const opened: OpenedInput[] = [];
  if (records) {
    const location = await spoolRecords(records, folder(), deps.stop);
    opened.push(await openOne(options.paths[0]!, location, options, options, deps));
  }
  for (const [index, source] of sources.entries()) {
    const { path, location } = yield* fetchSource(source, { folder, name: `input-${index + 1}` }, deps);
    opened.push(await openOne(path, location, { ...options, paths: inputs }, options, deps));
  }
  for (const { path, again } of opened) {
    if (again) yield { type: 'notice', message: `${path}: types and mapping of run ${again.runs[0]}` };
  }
  checkOpened(opened, options);
  // With `resume`, the session checks it, once it knows whether it continues a run.
  if (!options.resume) checkIdentifierKeys(opened);
  checkPath(opened, options);
  return inOrder(selectIn(opened, options.where));
}

/** Opens the inputs of an earlier session with the kinds and types that the run began with. */
export async function reopenInputs(
  run: StoredRun,
  options: ImportOptions,
  deps: Pick<ImportDeps, 'cwd' | 'state' | 'stop'>,
  located: readonly Located[] = run.inputs,
): Promise<OpenedInput[]> {
  const opened: OpenedInput[] = [];
  for (const [index, { path, location }] of located.entries()) {
    const { kind, types } = run.inputs[index]!;
    const began = { decidedTypes: types ?? undefined };
    opened.push(await openOne(path, location, { ...options, kind }, options, deps, began));
  }
  return selectIn(opened, options.where);
}

/** @throws UsageError if `jsonPath` is given and no input is a JSON document */
function checkPath(opened: readonly OpenedInput[], { jsonPath }: ImportOptions): void {
  const [first] = opened;
  if (jsonPath === undefined || !first || opened.some((one) => one.isRejects || one.json?.body)) return;
  throw new UsageError(`jsonPath leads into a JSON text, and ${first.path} is ${first.format}`, {
    hint: 'leave the path out',
    problem: { code: 'path_of_lines', format: first.format },
  });
}

/**
 * Opens the inputs of a saved plan, of an earlier session, or of a new import.
 * @returns `located`: for a saved plan, the location and digest of each input; otherwise null
 */
export async function* openFor(
  { apply, earlier, id }: { apply: Apply | null; earlier: StoredRun | null; id: string },
  options: ImportOptions,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, { opened: OpenedInput[]; located: DigestedInput[] | null }> {
  if (!apply) {
    const opened = earlier
      ? await reopenInputs(earlier, options, deps, yield* relocate(earlier, deps.inputs ?? [], deps))
      : yield* openInputs(options, id, deps);
    return { opened, located: null };
  }
  await checkAccount(apply.plan, deps);
  const located = yield* locateInputs(apply.plan, apply.inputs, () => deps.state.spools.folder(id), deps);
  const opened = earlier
    ? await reopenInputs(earlier, options, deps, located)
    : await openPlanned(apply.plan, located, options, deps);
  return { opened, located };
}

/** Opens the inputs of a saved plan, with the types and formats that it decided. */
async function openPlanned(
  { inputs }: SavedPlan,
  located: readonly Located[],
  options: ImportOptions,
  deps: ImportDeps,
): Promise<OpenedInput[]> {
  if (options.rejects !== null && inputs.length > 1) throw oneRejectsFile();
  const opened: OpenedInput[] = [];
  for (const [index, { path, location }] of located.entries()) {
    const { kind, format, types } = inputs[index]!;
    const began = { decidedTypes: types as CellType[] };
    opened.push(await openOne(path, location, { ...options, kind, format }, options, deps, began));
  }
  return selectIn(opened, options.where);
}

function openOne(
  path: string,
  location: string,
  options: ImportOptions,
  asked: ImportOptions,
  deps: Pick<ImportDeps, 'cwd' | 'state' | 'stop'>,
  began: Pick<InputOptions, 'decidedTypes'> = {},
): Promise<OpenedInput> {
  const { kind, id, userId, companyId, format, encoding, sheet, rules, byKind } = options;
  const how = { kind, id, userId, companyId, format, encoding, sheet, rules, byKind };
  const { where, limit, jsonPath, roundNumbers, maxCellBytes, maxColumns, maxDepth } = options;
  const limits = { maxCellBytes, maxColumns, maxDepth };
  const reading = { ...how, ...limits, where, limit, jsonPath, roundNumbers, ...dialectOptions(options) };
  const rejects = (found: RejectsHead) => readAgain(found, { path, cwd: deps.cwd }, asked, deps.state);
  const place = { path, location, cwd: deps.cwd, inputs: options.paths };
  return openInput({ ...place, ...reading, ...began, rejects }, deps.stop);
}

const oneRejectsFile = (): UsageError =>
  new UsageError('one rejects file cannot take the rows of several inputs', {
    problem: { code: 'one_rejects_file' },
  });

/** Companies first, because users refer to them. Within a kind, the order stays as given. */
function inOrder(opened: readonly OpenedInput[]): OpenedInput[] {
  return [...opened.filter((i) => i.kind === 'companies'), ...opened.filter((i) => i.kind === 'users')];
}
