/** `config list`: every value, and where it came from. */

import { writeDuration } from '../../../engine/duration.js';
import { Exit, type ExitCode } from '../../../engine/errors.js';
import type { Context } from '../../context.js';
import { camelCase } from '../../options/index.js';
import { leaves, type Scalar } from '../../settings/keys.js';
import type { Settings } from '../../settings/sources.js';
import { stateName } from '../../settings/sources.js';
import { type Listing, printListing } from '../listing.js';
import { openConfig, shown } from './store.js';

type Row = Record<'key' | 'value' | 'origin', Scalar | null>;

/** Prints the values in effect, then what the file has for regions and accounts. */
export async function list(listing: Listing, context: Context): Promise<ExitCode> {
  const settings = await context.settings();
  const { content, path } = await openConfig(context);
  const records = inEffect(settings);
  for (const [parts, value] of leaves(content)) {
    if (parts[0] !== 'regions' && parts[0] !== 'accounts') continue;
    const key = parts.join('.');
    records.push({ key, value: shown(key, value), origin: path });
  }
  const empty = 'nothing is set';
  await printListing({ records, fields: ['key', 'value', 'origin'], empty }, listing, context);
  return Exit.done;
}

function inEffect(settings: Settings): Row[] {
  const { importDefaults, origins } = settings;
  const values: Record<string, Scalar | null> = {
    account: settings.account,
    region: settings.region,
    base_url: settings.baseUrl,
    lookup_base_url: settings.lookupBaseUrl,
    // `token_command` is not run for this: the origin shows that it is set.
    token: settings.token === null ? null : String(settings.token),
    state: stateName(settings),
    state_dir: settings.stateDir,
    request_timeout: writeDuration(settings.timeoutMs),
    confirm: settings.confirm,
    'history.keep': writeDuration(settings.historyKeepMs),
  };
  return Object.entries(origins).map(([key, origin]) => {
    const value = key in values ? values[key] : importDefaults[camelCase(key.replace('import.', ''))];
    return { key, value: value ?? null, origin };
  });
}
