/** Where the sandbox keeps its data. */
import { resolve } from 'node:path';
import type { Context } from '../../context.js';
import { stateLocation } from '../../settings/index.js';
import type { Flags } from '../command.js';

/**
 * `--data`, otherwise the state directory. The config file is not read, because it does not affect the
 * sandbox.
 */
export function dataFolder(flags: Flags, context: Context): string {
  const { data } = flags as { data?: string };
  return data === undefined ? stateLocation(context, context.flags).value : resolve(context.cwd, data);
}
