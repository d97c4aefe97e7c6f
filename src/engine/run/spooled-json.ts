/** Reads and writes small JSON files in the private folder of a run. They exist only on this machine. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { notSpooled } from '../read/index.js';
import type { StoredRun } from '../state/runs.js';
import type { State } from '../state/state.js';
import { replaceFile } from '../util/replace-file.js';

/** @throws the error of the file system */
export const writeSpooled = (file: string, value: unknown): Promise<void> =>
  replaceFile(file, JSON.stringify(value));

/** Null if this machine does not have the file, or it is incomplete. */
export function readSpooled(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Where the inputs of a run are on this machine: pairs of input index and path. */
const PLACES_FILE = 'inputs.json';

export const readPlaces = (run: string, state: State): Map<number, string> =>
  new Map(readSpooled(join(state.spools.folder(run), PLACES_FILE)) as [number, string][] | null);

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
