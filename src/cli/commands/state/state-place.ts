/** Finds the state without creating it. */
import { existsSync } from 'node:fs';
import { UsageError } from '../../../engine/errors.js';
import { databaseFile } from '../../../engine/state/state.js';
import type { Context } from '../../context.js';
import { stateName } from '../../settings/sources.js';

export interface StatePlace {
  /** The folder, or the URL without its password. */
  name: string;
  /** The flag, variable, or key that names it, or `default`. */
  origin: string;
  /** The path of the database file, or the URL without its password. */
  database: string;
  /** Whether the folder has a database. Always true for PostgreSQL, where opening the state creates it. */
  exists: boolean;
  isFolder: boolean;
}

export async function statePlace(context: Context): Promise<StatePlace> {
  const settings = await context.settings();
  const name = stateName(settings);
  const origin = settings.origins.state!;
  if (settings.state.kind === 'postgres') {
    return { name, origin, database: name, exists: true, isFolder: false };
  }
  const database = databaseFile(name);
  return { name, origin, database, exists: existsSync(database), isFolder: true };
}

/** @throws UsageError if there is no state yet */
export function requireState({ name, origin, exists }: StatePlace): void {
  if (exists) return;
  throw new UsageError(`no state found in ${name} (${origin})`, {
    hint: 'choose its folder with --state, or import something first',
  });
}
