/** Finds the inputs of a saved plan or an earlier run again (contract §10 "Relay"). */
import { existsSync, mkdtempSync, realpathSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { type ErrorDetails, InputError, UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { digestFile, notSpooled } from '../read/index.js';
import { isWebAddress } from '../service/address.js';
import type { StoredRun } from '../state/runs.js';
import type { State } from '../state/state.js';
import { replaceFile } from '../util/replace-file.js';
import type { ImportDeps } from './deps.js';
import { type DigestedInput, digestInputs, expandInputs, fetchSource, type Located } from './sources.js';

/** Has pairs of an input's index and where it is on this machine, where that differs from the run. */
const PLACES_FILE = 'inputs.json';

/** Empty if this machine does not have the file, or only a part of it. */
function readPlaces(run: string, state: State): Map<number, string> {
  try {
    return new Map(JSON.parse(state.spools.read(run, PLACES_FILE)) as [number, string][]);
  } catch {
    return new Map();
  }
}

/** Records where the inputs of a run are on this machine, so that they are named once. @param locations by index */
export async function keepPlaces(
  { run, inputs }: StoredRun,
  locations: readonly string[],
  state: State,
): Promise<void> {
  const moved = [...locations.entries()].filter(([index, location]) => inputs[index]?.location !== location);
  if (moved.length === 0) return;
  const file = join(state.spools.folder(run), PLACES_FILE);
  await replaceFile(file, JSON.stringify(moved)).catch((error: unknown) => {
    throw notSpooled('the places of the inputs', file, error);
  });
}

/** What is to be found again. */
interface Wanted {
  path: string;
  digest: string;
}

/** A private place for a copy. Always a new one: an earlier session may have died while it wrote a copy. */
const copyFor =
  (spool: string, { state }: ImportDeps) =>
  (): Parameters<typeof fetchSource>[1] => {
    let made: string | undefined;
    const folder = () => (made ??= mkdtempSync(join(state.spools.folder(spool), 'copy-')));
    return { folder, name: 'input' };
  };

/**
 * Finds each input: by digest among the named files, otherwise where it was.
 * @param named files that are inputs, but not necessarily all of them
 * @param what the run or plan, for messages
 * @throws InputError if a named file is not an input
 */
async function* findAgain<W extends Wanted, F extends Located>(
  wanted: readonly W[],
  named: readonly string[],
  what: { of: string; hint: string },
  read: (path: string) => AsyncGenerator<ImportEvent, DigestedInput[]>,
  where: (one: W, index: number) => AsyncGenerator<ImportEvent, F>,
): AsyncGenerator<ImportEvent, (DigestedInput | F)[]> {
  const others: DigestedInput[] = [];
  for (const path of named) others.push(...(yield* read(path)));
  const known = new Set(wanted.map(({ digest }) => digest));
  const found: (DigestedInput | F)[] = [];
  let stray = others.find(({ digest }) => !known.has(digest));
  for (const [index, one] of stray ? [] : wanted.entries()) {
    const at = others.findIndex(({ digest }) => digest === one.digest);
    found.push(at >= 0 ? others.splice(at, 1)[0]! : yield* where(one, index));
  }
  stray ??= others[0];
  if (!stray) return found;
  const message = `is not an input of ${what.of}, or its content has changed`;
  throw new InputError(message, { file: stray.path, hint: what.hint });
}

/**
 * Finds the inputs of an earlier run: at its recorded location, or at its path relative to the current folder. Downloads
 * and archive members are fetched again if their copies are not on this machine.
 */
export async function* relocate(
  run: StoredRun,
  named: readonly string[],
  spool: string,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, Located[]> {
  const copy = copyFor(spool, deps);
  const places = readPlaces(run.run, deps.state);
  const what = { of: `run ${run.run}`, hint: 'name the file that the run read, or import this one' };
  const read = (path: string) => digestInputs(path, copy, deps);
  const found = yield* findAgain(run.inputs, named, what, read, async function* (input, index) {
    const here = await onThisMachine(input, places.get(index), deps);
    return { path: input.path, location: here ?? (yield* fetchAgain(run.run, input, copy, deps)) };
  });
  return found.map(({ location }, index) => ({ path: run.inputs[index]!.path, location }));
}

type Input = StoredRun['inputs'][number];

/**
 * The location of the input on this machine; null if there is none. A single candidate is not read here: if
 * it has changed, the scan finds a different digest.
 */
async function onThisMachine(
  { path, location, digest }: Input,
  known: string | undefined,
  { cwd, stop }: ImportDeps,
): Promise<string | null> {
  const isFetched = path === '-' || isWebAddress(path);
  const places = [known ?? location, location, ...(isFetched ? [] : [resolve(cwd, path)])];
  const existing = places.filter((place) => existsSync(place));
  const here = [...new Map(existing.map((place) => [realpathSync(place), place])).values()];
  for (const place of here.length > 1 ? here : []) {
    if ((await digestFile({ path, location: place }, stop)).digest === digest) return place;
  }
  return here[0] ?? null;
}

/** @throws InputError if it cannot be fetched again */
async function* fetchAgain(
  run: string,
  { path, location }: Input,
  copy: ReturnType<typeof copyFor>,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, string> {
  const details: ErrorDetails = {
    hint: 'name a file with the same content',
    problem: { code: 'run_input', run, path },
  };
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

/** Finds the inputs of a plan: at the paths in the plan, with the same content. */
export function locatePlanned(
  inputs: readonly { path: string; bytes: number; sha256: string }[],
  named: readonly string[],
  spool: string,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, DigestedInput[]> {
  const copy = copyFor(spool, deps);
  const read = (path: string) => {
    if (path === '-') throw new UsageError('the inputs of a plan are files, not stdin (-)');
    return digestInputs(path, copy, deps);
  };
  const wanted = inputs.map(({ path, bytes, sha256 }) => ({ path, bytes, digest: sha256 }));
  const what = { of: 'the plan', hint: 'name the file that the plan was made of, or make a new plan' };
  return findAgain(wanted, named, what, read, async function* ({ path, bytes, digest }) {
    const problem = { code: 'plan_input', path } as const;
    let found: DigestedInput[];
    try {
      found = yield* read(path);
    } catch (error) {
      throw error instanceof InputError ? new InputError(error.message, { problem, cause: error }) : error;
    }
    const [own] = found;
    if (own?.digest === digest && found.length === 1) return own;
    const sizes = own && own.size !== bytes ? ` (${own.size} bytes, not ${bytes})` : '';
    throw new InputError(`has changed since the plan was made${sizes}`, { file: path, problem });
  });
}
