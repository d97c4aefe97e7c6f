/**
 * Finds the inputs of a run that continues (contract §10 "Relay"), and records where this machine found them.
 */
import { existsSync, mkdtempSync, realpathSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { InputError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { digestFile, notSpooled } from '../read/index.js';
import { isWebAddress } from '../service/address.js';
import type { StoredRun } from '../state/runs.js';
import type { State } from '../state/state.js';
import type { ImportDeps } from './deps.js';
import { type DigestedInput, digestInputs, expandInputs, fetchSource, type Located } from './sources.js';
import { readSpooled, writeSpooled } from './spooled-json.js';

type Deps = Pick<
  ImportDeps,
  'state' | 'cwd' | 'platform' | 'stdin' | 'stop' | 'clock' | 'random' | 'download'
>;
type Input = StoredRun['inputs'][number];
type Copy = Parameters<typeof fetchSource>[1];

/**
 * File in the private folder of the run with the locations on this machine: pairs of input index and path.
 */
const PLACES_FILE = 'inputs.json';

/**
 * Finds each input: by digest among the named files; otherwise at its recorded location on this machine, at
 * the location on the machine that began the run, or at its path relative to the current folder. Downloads
 * and archive members are fetched again if their copies are not on this machine.
 * @param named files that are inputs of the run, but not necessarily all of them
 * @throws InputError if an input cannot be found, or a named file is not an input
 */
export async function* relocate(
  run: StoredRun,
  named: readonly string[],
  deps: Deps,
): AsyncGenerator<ImportEvent, Located[]> {
  const places = readPlaces(run.run, deps);
  const copy = (): Copy => {
    // Always a new folder: an earlier session may have died while it wrote a copy.
    const folder = mkdtempSync(join(deps.state.spools.folder(run.run), 'copy-'));
    return { folder: () => folder, name: 'input' };
  };
  const others: DigestedInput[] = [];
  for (const path of named) others.push(...(yield* digestInputs(path, copy, deps)));
  const stray = others.find((other) => run.inputs.every(({ digest }) => digest !== other.digest));
  if (stray) throw strayInput(run, stray);
  const found: Located[] = [];
  for (const [index, input] of run.inputs.entries()) {
    const { path } = input;
    const at = others.findIndex(({ digest }) => digest === input.digest);
    const own =
      at >= 0 ? others.splice(at, 1)[0]!.location : await onThisMachine(input, places.get(index), deps);
    const here = own ?? (yield* fetchAgain(run.run, input, copy, deps));
    found.push({ path, location: here });
  }
  const [twice] = others;
  if (twice) throw strayInput(run, twice);
  return found;
}

const strayInput = ({ run }: StoredRun, { path }: DigestedInput): InputError =>
  new InputError(`is not an input of run ${run}, or its content has changed`, {
    file: path,
    hint: 'name the file that the run read, or import this one',
  });

/**
 * The location of the input on this machine; null if there is none. A single candidate is not read here: if
 * it has changed, the scan finds a different digest.
 */
async function onThisMachine(
  { path, location, digest }: Input,
  known: string | undefined,
  { cwd, stop }: Deps,
): Promise<string | null> {
  const places = [known ?? location, location, ...(isFetched(path) ? [] : [resolve(cwd, path)])];
  const here = [
    ...new Map(
      places.filter((place) => existsSync(place)).map((place) => [realpathSync(place), place]),
    ).values(),
  ];
  for (const place of here.length > 1 ? here : []) {
    if ((await digestFile({ path, location: place }, stop)).digest === digest) return place;
  }
  return here[0] ?? null;
}

/** Whether the path is stdin or a web address, not a file. */
const isFetched = (path: string): boolean => path === '-' || isWebAddress(path);

/** @throws InputError if it cannot be fetched again */
async function* fetchAgain(
  run: string,
  { path, location }: Input,
  copy: () => Copy,
  deps: Deps,
): AsyncGenerator<ImportEvent, string> {
  const details = {
    hint: 'name a file with the same content',
    problem: { code: 'run_input', run, path },
  } as const;
  if (path === '-') {
    throw new InputError(`run ${run} read stdin, and there is no copy of it here`, details);
  }
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
  const before = basename(location) === basename(path) ? `; run ${run} read it from ${location}` : '';
  throw new InputError(`not found here${before}`, { file: path, ...details });
}

function readPlaces(run: string, { state }: Deps): Map<number, string> {
  const file = join(state.spools.folder(run), PLACES_FILE);
  return new Map(readSpooled(file) as [number, string][] | null);
}

/**
 * Records where the inputs of a run are on this machine, if that differs from the run.
 * @param locations by index of the input
 */
export async function keepPlaces(
  { run, inputs }: StoredRun,
  locations: readonly string[],
  state: State,
): Promise<void> {
  const moved = [...locations.entries()].filter(([index, location]) => inputs[index]?.location !== location);
  if (moved.length === 0) return;
  const file = join(state.spools.folder(run), PLACES_FILE);
  try {
    await writeSpooled(file, moved);
  } catch (error) {
    throw notSpooled('the places of the inputs', file, error);
  }
}
