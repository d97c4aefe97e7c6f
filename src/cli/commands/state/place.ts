/** Where the state is, without making one. */
import { existsSync } from 'node:fs';
import { UsageError } from '../../../engine/errors.js';
import { databaseFile } from '../../../engine/state/sqlite/open.js';
import type { Context } from '../../context.js';

export interface StatePlace {
  folder: string;
  /** The flag, variable or default that names it. */
  origin: string;
  database: string;
  exists: boolean;
}

export async function statePlace(context: Context): Promise<StatePlace> {
  const { stateDir, origins } = await context.settings();
  const database = databaseFile(stateDir);
  return { folder: stateDir, origin: origins.state_dir!, database, exists: existsSync(database) };
}

/** @throws UsageError where there is no state yet */
export function requireState({ folder, origin, exists }: StatePlace): void {
  if (exists) return;
  throw new UsageError(`no state found in ${folder} (${origin})`, {
    hint: 'choose its directory with --state-dir, or import something first',
  });
}
