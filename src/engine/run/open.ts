/** Opens the inputs of an import: companies before users, stdin spooled first. */
import { resolve } from 'node:path';
import { UsageError } from '../errors.js';
import type { ImportOptions } from '../options.js';
import {
  checkOpened,
  expandGlobs,
  type InputOptions,
  type OpenedInput,
  openInput,
  selectIn,
  spoolRecords,
  spoolStdin,
} from '../read/index.js';
import type { StoredRun } from '../state/runs.js';
import type { ImportDeps } from './deps.js';

/** @throws InputError UsageError */
export async function openInputs(
  options: ImportOptions,
  run: string,
  deps: ImportDeps,
): Promise<OpenedInput[]> {
  const paths = deps.platform === 'win32' ? await expandGlobs(options.paths, deps.cwd) : options.paths;
  if (paths.filter((path) => path === '-').length > 1) {
    throw new UsageError('stdin (-) can be read only once', {
      hint: 'use - only once, and pass file names for the other inputs',
    });
  }
  const opened: OpenedInput[] = [];
  for (const path of paths) {
    const location = deps.records
      ? await spoolRecords(deps.records, deps.state.spoolFolder(run), deps.stop)
      : path === '-'
        ? await spoolStdin(deps.stdin, deps.state.spoolFolder(run), deps.stop)
        : resolve(deps.cwd, path);
    opened.push(await openOne(path, location, options, deps));
  }
  checkOpened(opened, options);
  checkPath(opened, options);
  return inOrder(selectIn(opened, options.where));
}

/** The inputs of an earlier session, from where they lay. */
export async function reopenInputs(
  run: StoredRun,
  options: ImportOptions,
  deps: ImportDeps,
): Promise<OpenedInput[]> {
  const opened: OpenedInput[] = [];
  for (const { path, location, kind, types } of run.inputs) {
    const began = { decidedTypes: types ?? undefined, itemFormat: run.item_format };
    opened.push(await openOne(path, location, { ...options, kind }, deps, began));
  }
  return selectIn(opened, options.where);
}

/** @throws UsageError for a path into JSON where there is none */
function checkPath(opened: readonly OpenedInput[], { jsonPath }: ImportOptions): void {
  const [first] = opened;
  if (jsonPath === undefined || !first || opened.some(({ body }) => body !== null)) return;
  throw new UsageError(`jsonPath leads into a JSON text, and ${first.path} is ${first.format}`, {
    hint: 'leave the path out',
    problem: { code: 'path_of_lines', format: first.format },
  });
}

function openOne(
  path: string,
  location: string,
  options: ImportOptions,
  deps: ImportDeps,
  began: Pick<InputOptions, 'decidedTypes' | 'itemFormat'> = {},
): Promise<OpenedInput> {
  const { kind, id, userId, companyId, format, delimiter, encoding, maxCellBytes, rules, byKind } = options;
  const { where, limit, jsonPath, roundNumbers } = options;
  const reading = { kind, id, userId, companyId, format, delimiter, encoding, maxCellBytes, rules, byKind };
  const selecting = { where, limit, jsonPath, roundNumbers };
  const given = { ...reading, ...selecting, ...began };
  return openInput({ path, location, cwd: deps.cwd, ...given, inputs: options.paths }, deps.stop);
}

/** Users refer to companies, so those go first; within a kind the order is the user's. */
function inOrder(opened: readonly OpenedInput[]): OpenedInput[] {
  return [...opened.filter((i) => i.kind === 'companies'), ...opened.filter((i) => i.kind === 'users')];
}
