/**
 * What a saved plan or an earlier session of a run has decided, in one form: the inputs, and how their rows become items.
 * Finds these inputs again (contract §10 "Relay").
 */
import { existsSync, mkdtempSync, realpathSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { type ErrorDetails, InputError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { CellType, Format, Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { PlannedInput } from '../plan/plan.js';
import { digestFile, notSpooled } from '../read/index.js';
import { isWebAddress } from '../service/address.js';
import type { StoredRun } from '../state/runs.js';
import type { State } from '../state/state.js';
import { replaceFile } from '../util/replace-file.js';
import type { ImportDeps } from './deps.js';
import { type DigestedInput, digestInputs, expandInputs, fetchSource, type Located } from './sources.js';
import type { Start } from './start.js';
import { keptPairs } from './stored-options.js';

interface RecordedInput {
  path: string;
  /** Where a run has read it; a plan may be carried out on another machine. */
  location?: string;
  kind: Kind;
  format?: Format;
  digest: string;
  types: CellType[];
}

export interface Recorded {
  run: string;
  item_format: number;
  inputs: readonly RecordedInput[];
  /** For messages: `run 20261120-101500-x7k2`, or `the plan`. */
  name: string;
  /** What to do about a file that is not one of the inputs. */
  otherwise: string;
  /** Of the error for an input that is not found. */
  missing(path: string): ErrorDetails;
  /** The error for an input with another content. @param what what is not possible then */
  changed(index: number, now: PlannedInput, cwd: string, what: string): InputError;
}

/** Null if nothing was decided before. */
export function recordedIn(start: Start): Recorded | null {
  switch (start.from) {
    case 'inputs':
      return null;
    case 'run':
      return ofRun(start.run);
    case 'plan': {
      const { run, item_format, inputs } = start.plan;
      const missing = (path: string) => ({ problem: { code: 'plan_input', path } }) as const;
      return {
        ...{ run, item_format, name: 'the plan', missing },
        inputs: inputs.map(({ path, kind, format, sha256, types }) => ({
          ...{ path, kind, format, digest: sha256, types: types as CellType[] },
        })),
        otherwise: 'name the file that the plan was made of, or make a new plan',
        changed: (index, { scan }) => {
          const { path, bytes } = inputs[index]!;
          const sizes = scan.size === bytes ? '' : ` (${scan.size} bytes, not ${bytes})`;
          const message = `has changed since the plan was made${sizes}`;
          return new InputError(message, { file: path, ...missing(path) });
        },
      };
    }
  }
}

const ofRun = ({ run, item_format, inputs, options }: StoredRun): Recorded => ({
  ...{ run, item_format, inputs, name: `run ${run}` },
  otherwise: 'name the file that the run read, or import this one',
  missing: (path) => ({
    hint: 'name a file with the same content',
    problem: { code: 'run_input', run, path },
  }),
  changed: (index, { opened: { location } }, cwd, what) => {
    const { path } = inputs[index]!;
    // The run may have begun in another folder. Copies of downloads and archive members have other names.
    const isElsewhere = basename(location) === basename(path) && location !== resolve(cwd, path);
    const { kind, id } = options as Pick<ImportOptions, 'kind' | 'id'>;
    return new InputError(`has changed since run ${run} began, so ${what}`, {
      file: path,
      hint: 'restore the old content, or start a new import of the file',
      problem: { code: 'input_changed', paths: [isElsewhere ? location : path], kind, id },
    });
  },
});

/** Has pairs of an input's index and where it is on this machine, where that differs from the run. */
const PLACES_FILE = 'inputs.json';

/** Records where the inputs of a run are on this machine, so that they are named once. @param locations by index */
export async function keepPlaces(
  { run, inputs }: StoredRun,
  locations: readonly string[],
  { spools }: Pick<State, 'spools'>,
): Promise<void> {
  const moved = [...locations.entries()].filter(([index, location]) => inputs[index]?.location !== location);
  if (moved.length === 0) return;
  const file = join(spools.folder(run), PLACES_FILE);
  await replaceFile(file, JSON.stringify(moved)).catch((error: unknown) => {
    throw notSpooled('the places of the inputs', file, error);
  });
}

type Copy = () => Parameters<typeof fetchSource>[1];

/**
 * Finds each input: by digest among the named files, otherwise where it was, or at its path relative to the current folder.
 * Downloads and archive members are fetched again if their copies are not on this machine.
 * @param named files that are inputs, but not necessarily all of them
 * @param spool the id of the folder for copies
 * @throws InputError if a named file is not an input, or an input is not found
 */
export async function* locate(
  record: Recorded,
  named: readonly string[],
  spool: string,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, Located[]> {
  // Always a new place: an earlier session may have died while it wrote a copy.
  const copy: Copy = () => {
    let made: string | undefined;
    const folder = () => (made ??= mkdtempSync(join(deps.state.spools.folder(spool), 'copy-')));
    return { folder, name: 'input' };
  };
  const others: DigestedInput[] = [];
  for (const path of named) others.push(...(yield* digestInputs(path, copy, deps)));
  const stray = others.find(({ digest }) => !record.inputs.some((input) => input.digest === digest));
  if (stray) {
    const message = `is not an input of ${record.name}, or its content has changed`;
    throw new InputError(message, { file: stray.path, hint: record.otherwise });
  }
  const places = keptPairs<number, string>(deps.state, record.run, PLACES_FILE);
  const found: Located[] = [];
  for (const [index, input] of record.inputs.entries()) {
    const at = others.findIndex(({ digest }) => digest === input.digest);
    const [other] = at >= 0 ? others.splice(at, 1) : [];
    const location =
      other?.location ??
      (await onThisMachine(input, places.get(index), deps)) ??
      (yield* fetchAgain(record, input, copy, deps));
    // A run names it as it began; a plan, as it is named now.
    found.push({ path: input.location === undefined ? (other?.path ?? input.path) : input.path, location });
  }
  return found;
}

/**
 * The location of the input on this machine; null if there is none. A single candidate is not read here: if
 * it has changed, the scan finds a different digest.
 */
async function onThisMachine(
  { path, location, digest }: RecordedInput,
  known: string | undefined,
  { cwd, stop }: ImportDeps,
): Promise<string | null> {
  const isFetched = path === '-' || isWebAddress(path);
  const places = [known, location, isFetched ? undefined : resolve(cwd, path)];
  const existing = places.filter((place) => place !== undefined && existsSync(place)) as string[];
  const here = [...new Map(existing.map((place) => [realpathSync(place), place])).values()];
  for (const place of here.length > 1 ? here : []) {
    if ((await digestFile({ path, location: place }, stop)).digest === digest) return place;
  }
  return here[0] ?? null;
}

/** @throws InputError if it cannot be fetched again */
async function* fetchAgain(
  { name, missing }: Recorded,
  { path, location }: RecordedInput,
  copy: Copy,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, string> {
  const details = missing(path);
  if (path === '-') throw new InputError(`${name} read stdin, and there is no copy of it here`, details);
  try {
    const [source, ...more] = await expandInputs([path], deps);
    if (source && source.from !== 'file' && more.length === 0) {
      return (yield* fetchSource(source, copy(), deps)).location;
    }
  } catch (error) {
    // The address may have failed because its signature is not stored, so the hint is to name a file.
    if (error instanceof InputError) throw new InputError(error.message, { ...details, cause: error });
    throw error;
  }
  const was = location !== undefined && basename(location) === basename(path);
  const message = location === undefined ? 'no such file' : 'not found here';
  throw new InputError(was ? `${message}; ${name} read it from ${location}` : message, {
    file: path,
    ...details,
  });
}
