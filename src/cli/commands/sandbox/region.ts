/** The region of the sandbox that a command shows. */
import { UsageError } from '../../../engine/errors.js';
import type { Region } from '../../../sandbox/index.js';
import type { Context } from '../../context.js';
import { given, SANDBOX_REGION } from '../../options/index.js';
import type { Flags } from '../command.js';

/**
 * `--region-of` or `--region`. Environment and config file are not read, because they do not affect the
 * sandbox.
 */
export function regionIn(flags: Flags, context: Context): Region {
  const { regionOf } = given(SANDBOX_REGION, flags);
  const { region: named } = context.flags;
  // Imports with `--region sandbox` go to the default region of the sandbox, so it means that region here.
  const region = named === 'sandbox' ? undefined : named;
  if (regionOf !== undefined && region !== undefined && region !== regionOf) {
    throw new UsageError(`--region ${region} and --region-of ${regionOf} cannot be combined`, {
      hint: 'leave one out',
    });
  }
  const chosen = regionOf ?? region ?? 'default';
  if (chosen !== 'default' && chosen !== 'eu') {
    throw new UsageError(`the sandbox has no region "${chosen}"`, { hint: 'available regions: default, eu' });
  }
  return chosen;
}

/** How to import into a region: `--region sandbox` imports into the default one. */
export const howToImport = (region: Region): string =>
  region === 'eu' ? 'through the EU address of profiles sandbox' : 'with --region sandbox';
