/** Where the sandbox's data are. */
import { resolve } from 'node:path';
import type { Context } from '../../context.js';
import { stateLocation } from '../../settings/index.js';
import type { Flags } from '../command.js';

/** `--data`, else the state directory: it is found without reading the config, which says nothing about a rehearsal. */
export function dataFolder(flags: Flags, context: Context): string {
  const { data } = flags as { data?: string };
  return data === undefined ? stateLocation(context, context.flags).value : resolve(context.cwd, data);
}
