/** Opens the inputs of a course, companies before users, and checks the files that it writes: none may replace a file that it reads. */
import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { InputError, UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { type CellType, KINDS } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { Problem } from '../problems.js';
import {
  checkOpened,
  isOutcomes,
  type OpenedInput,
  openInput,
  type RejectsHead,
  selectIn,
  spoolRecords,
} from '../read/index.js';
import { databaseFile } from '../state/folder.js';
import type { StoredRun } from '../state/runs.js';
import { obstacle } from '../util/written-file.js';
import { readAgain } from './again.js';
import type { Recorded } from './recorded.js';
import { isRejectsName } from './rejects-form.js';
import {
  type AnySource,
  expandInputs,
  fetchSource,
  type Located,
  leftOutWarnings,
  locate,
  shownInputs,
} from './sources.js';
import type { ImportDeps, Start } from './start.js';

/**
 * @param recorded what was decided before; null for new inputs
 * @param spool returns the folder for copies, created if needed
 * @throws InputError UsageError NetworkError StateError
 */
export async function* openInputs(
  start: Start,
  recorded: Recorded | null,
  spool: () => string,
  options: ImportOptions,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, OpenedInput[]> {
  const sources = recorded || deps.records ? [] : await expandInputs(options.paths, deps);
  if (options.rejects !== null && (recorded?.inputs ?? sources).length > 1) {
    throw new UsageError('one rejects file cannot take the rows of several inputs', {
      problem: { code: 'one_rejects_file' },
    });
  }
  const leftOut = recorded || deps.records ? [] : await leftOutWarnings(options.paths, sources, deps);
  for (const message of leftOut) yield { type: 'warning', message };
  if (!recorded) return yield* openNew(sources, spool, options, deps);
  const named = start.from === 'inputs' ? [] : start.inputs;
  const opened: OpenedInput[] = [];
  // With the kinds and types that were decided before.
  for (const [index, one] of (yield* locate(recorded, named, spool, deps)).entries()) {
    const { kind, format = options.format, types } = recorded.inputs[index]!;
    opened.push(await openOne(one, { ...options, kind, format }, options, deps, types));
  }
  return selectIn(opened, options.where);
}

async function* openNew(
  sources: readonly AnySource[],
  spool: () => string,
  options: ImportOptions,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, OpenedInput[]> {
  const { records } = deps;
  if (sources.filter(({ from }) => from === 'stdin').length > 1) {
    throw new UsageError('stdin (-) can be read only once', {
      hint: 'use - only once, and pass file names for the other inputs',
    });
  }
  const shown = { ...options, paths: shownInputs(options.paths) };
  const opened: OpenedInput[] = [];
  if (records) {
    const location = await spoolRecords(records, spool(), deps.stop);
    opened.push(await openOne({ path: options.paths[0]!, location }, options, options, deps));
  }
  for (const source of sources)
    opened.push(await openOne(yield* fetchSource(source, spool, deps), shown, options, deps));
  for (const { path, again, targets } of opened) {
    if (!again) continue;
    yield { type: 'notice', message: `${path}: types and mapping of run ${again.runs[0]}` };
    for (const { column, role } of targets) {
      const isAdded = role === 'metadata' && again.added.includes(column);
      const message = `${path}: ${column} is not a column of the file that its rows come from, and is sent; exclude it if it is a note`;
      if (isAdded) yield { type: 'warning', message };
    }
  }
  for (const warning of checkOpened(opened, options)) yield { type: 'warning', ...warning };
  const [first] = opened;
  if (
    options.jsonPath !== undefined &&
    first &&
    !opened.some((one) => one.isRejects || one.format === 'json')
  ) {
    throw new UsageError(`jsonPath leads into a JSON text, and ${first.path} is ${first.format}`, {
      hint: 'leave the path out',
      problem: { code: 'path_of_lines', format: first.format },
    });
  }
  const inOrder = KINDS.flatMap((kind) => opened.filter((input) => input.kind === kind));
  return selectIn(inOrder, options.where);
}

function openOne(
  { path, location }: Located,
  options: ImportOptions,
  asked: ImportOptions,
  { cwd, state, stop }: ImportDeps,
  decidedTypes?: CellType[],
): Promise<OpenedInput> {
  const rejects = (found: RejectsHead) => readAgain(found, { path, cwd }, asked, state);
  const place = { path, location, cwd, inputs: options.paths };
  return openInput({ ...options, ...place, decidedTypes, rejects }, stop);
}

/**
 * Checks the files of outcomes, of rejected rows, and of the report. Called before anything is sent.
 * @throws InputError
 */
export function checkOwnFiles(
  { outcomes, rejects }: Pick<ImportOptions, 'rejects' | 'outcomes'>,
  opened: readonly OpenedInput[],
  earlier: StoredRun | null,
  { cwd, state, reads = [], reportFile }: Pick<ImportDeps, 'cwd' | 'state' | 'reads' | 'reportFile'>,
): void {
  const refuse = (file: string, what: string, code: Problem['code'], why: string): never => {
    throw new InputError(`${what} cannot be written here: ${why}`, {
      ...{ file, hint: 'name another file' },
      problem: { code } as Problem,
    });
  };
  const ofRejects = (path: string) =>
    rejects === null && isRejectsName(path) ? 'only rejects files have such names' : null;
  if (outcomes != null) {
    const written = earlier?.inputs.map(({ rejects_file }) => rejects_file) ?? [];
    const own = [...opened.map(({ location }) => location), ...reads, rejects, ...written];
    const taken = own.flatMap((file) => (file == null ? [] : resolve(cwd, file)));
    const isTaken = [...taken, databaseFile(state.folder)].some((file) => isSame(file, outcomes));
    const kind = { name: 'a file of outcomes', isOne: isOutcomes };
    const why = isTaken ? 'it is a file of this import' : (obstacle(outcomes, kind) ?? ofRejects(outcomes));
    if (why !== null) refuse(outcomes, 'the outcomes of rows', 'outcomes_file', why);
  }
  if (rejects != null && statOf(resolve(cwd, rejects))?.isFile() === false)
    refuse(rejects, 'rejected rows', 'rejects_file', 'it is not a regular file');
  const why = reportFile == null ? null : ofRejects(reportFile);
  if (why !== null) refuse(reportFile!, 'the report', 'report_file', why);
}

/** Null if it does not exist, or cannot be examined: writing it says why. */
function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [statOf(a), statOf(b)];
  return one !== null && one.dev === other?.dev && one.ino === other.ino;
}
