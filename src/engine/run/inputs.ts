/** Opens the inputs of a course: companies before users. */

import { UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { CellType } from '../model.js';
import { dialectOptions } from '../options/dialect-options.js';
import type { ImportOptions } from '../options.js';
import {
  checkOpened,
  type OpenedInput,
  openInput,
  type RejectsHead,
  selectIn,
  spoolRecords,
} from '../read/index.js';
import type { StoredRun } from '../state/runs.js';
import type { ImportDeps } from './deps.js';
import { locatePlanned, relocate } from './locate.js';
import { readAgain } from './origin.js';
import { type DigestedInput, expandInputs, fetchSource, type Located, shownInputs } from './sources.js';
import type { Start } from './start.js';

type OpenDeps = Pick<ImportDeps, 'cwd' | 'state' | 'stop'>;

export interface Opened {
  opened: readonly OpenedInput[];
  /** Of a saved plan: the location and digest of each input. */
  located: readonly DigestedInput[] | null;
}

/** @param spool the id of the folder for copies. @throws InputError UsageError NetworkError StateError */
export async function* openInputs(
  start: Start,
  spool: string,
  options: ImportOptions,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, Opened> {
  switch (start.from) {
    case 'inputs':
      return { opened: yield* openNew(options, spool, deps), located: null };
    case 'run': {
      const located = yield* relocate(start.run, start.inputs, spool, deps);
      return { opened: await reopenInputs(start.run, options, deps, located), located: null };
    }
    case 'plan': {
      const { inputs } = start.plan;
      if (options.rejects !== null && inputs.length > 1) throw oneRejectsFile();
      const located = yield* locatePlanned(inputs, start.inputs, spool, deps);
      const began = inputs.map(({ kind, format, types }) => ({ kind, format, types: types as CellType[] }));
      return { opened: await openAs(began, located, options, deps), located };
    }
  }
}

async function* openNew(
  options: ImportOptions,
  spool: string,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, OpenedInput[]> {
  const { records } = deps;
  const sources = records ? [] : await expandInputs(options.paths, deps);
  if (sources.filter(({ from }) => from === 'stdin').length > 1) {
    throw new UsageError('stdin (-) can be read only once', {
      hint: 'use - only once, and pass file names for the other inputs',
    });
  }
  if (options.rejects !== null && sources.length > 1) throw oneRejectsFile();
  const folder = () => deps.state.spools.folder(spool);
  const shown = { ...options, paths: shownInputs(options.paths) };
  const opened: OpenedInput[] = [];
  if (records) {
    const location = await spoolRecords(records, folder(), deps.stop);
    opened.push(await openOne({ path: options.paths[0]!, location }, options, options, deps));
  }
  for (const [index, source] of sources.entries()) {
    const located = yield* fetchSource(source, { folder, name: `input-${index + 1}` }, deps);
    opened.push(await openOne(located, shown, options, deps));
  }
  for (const { path, again } of opened) {
    if (again) yield { type: 'notice', message: `${path}: types and mapping of run ${again.runs[0]}` };
  }
  checkOpened(opened, options);
  checkPath(opened, options);
  const ordered = [
    ...opened.filter((i) => i.kind === 'companies'),
    ...opened.filter((i) => i.kind === 'users'),
  ];
  return selectIn(ordered, options.where);
}

/** Opens the inputs of an earlier session with the kinds and types that the run began with. */
export const reopenInputs = (
  { inputs }: Pick<StoredRun, 'inputs'>,
  options: ImportOptions,
  deps: OpenDeps,
  located: readonly Located[] = inputs,
): Promise<OpenedInput[]> =>
  openAs(
    inputs.map(({ kind, types }) => ({ kind, types })),
    located,
    options,
    deps,
  );

/** Opens inputs as they were read before. */
async function openAs(
  began: readonly (Pick<ImportOptions, 'kind' | 'format'> & { types: CellType[] })[],
  located: readonly Located[],
  options: ImportOptions,
  deps: OpenDeps,
): Promise<OpenedInput[]> {
  const opened: OpenedInput[] = [];
  for (const [index, one] of located.entries()) {
    const { types, ...as } = began[index]!;
    opened.push(await openOne(one, { ...options, ...as }, options, deps, types));
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

function openOne(
  { path, location }: Located,
  options: ImportOptions,
  asked: ImportOptions,
  deps: OpenDeps,
  decidedTypes?: CellType[],
): Promise<OpenedInput> {
  const { kind, id, userId, companyId, format, encoding, sheet, rules, byKind } = options;
  const how = { kind, id, userId, companyId, format, encoding, sheet, rules, byKind };
  const { where, limit, jsonPath, roundNumbers, maxCellBytes, maxColumns, maxDepth } = options;
  const limits = { maxCellBytes, maxColumns, maxDepth };
  const reading = { ...how, ...limits, where, limit, jsonPath, roundNumbers, ...dialectOptions(options) };
  const rejects = (found: RejectsHead) => readAgain(found, { path, cwd: deps.cwd }, asked, deps.state);
  const place = { path, location, cwd: deps.cwd, inputs: options.paths };
  return openInput({ ...place, ...reading, decidedTypes, rejects }, deps.stop);
}

const oneRejectsFile = (): UsageError =>
  new UsageError('one rejects file cannot take the rows of several inputs', {
    problem: { code: 'one_rejects_file' },
  });
