/** Where the sandbox keeps its data. */
import { resolve } from 'node:path';
import type { Context } from '../../context.js';
import { resolveSettings } from '../../settings/index.js';
import type { SettingsFlags } from '../../settings/sources.js';
import type { Flags } from '../command.js';

/**
 * `--data`, otherwise the folder of the state, where the embedded service of `--region sandbox` has its data. Other
 * settings do not affect the sandbox.
 */
export async function dataFolder(flags: Flags, context: Context): Promise<string> {
  const { data } = flags as { data?: string };
  if (data !== undefined) return resolve(context.cwd, data);
  const { config, account, state } = flags as SettingsFlags;
  const own = Object.entries({ config, account, state }).filter(([, value]) => value !== undefined);
  return (await resolveSettings(context, { ...Object.fromEntries(own), region: 'sandbox' })).stateDir;
}
