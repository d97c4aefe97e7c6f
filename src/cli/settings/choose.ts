/**
 * Chooses the account and the region. Both must be known, so that a mistyped `sandbox` never reaches a real
 * service.
 */
import { ConfigError, UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import { type Hint, hinted, toRun } from '../hint.js';
import { GLOBAL } from '../options/index.js';
import { NAME, NAME_RULE } from './keys.js';
import { type Found, flagOrVariable } from './location.js';
import { first, type Place, property, type Sources } from './sources.js';

/** Regions that exist without an entry in the config file. */
export const BUILT_IN_REGIONS = ['default', 'eu', 'sandbox'] as const;

/** The chosen account, or null. @throws UsageError or ConfigError if it is not configured */
export function chooseAccount({ world, flags, config }: Sources): Found<string> | null {
  const found = flagOrVariable(world, flags, 'account') ?? first([[config.content.account, config.path]]);
  if (!found || property(config.content.accounts, found.value)) return found;
  const like = nearest(found.value, Object.keys(config.content.accounts ?? {}));
  throw unknown('account', found, like, ({ command }) =>
    toRun('create it with', command('config', 'init', '--account', found.value)),
  );
}

/** The chosen region. @throws UsageError or ConfigError if it is neither built in nor configured */
export function chooseRegion({ world, flags, config }: Sources, sections: readonly Place[]): Found<string> {
  const inFile = (): Found<string> | null =>
    first(
      sections.map(({ section, prefix }): [string | undefined, string] => [
        section.region,
        `${config.path} (${prefix}region)`,
      ]),
    );
  const fallback = { value: GLOBAL.region.default, origin: 'default' };
  const found = flagOrVariable(world, flags, 'region') ?? inFile() ?? fallback;
  const known = new Set<string>(BUILT_IN_REGIONS);
  for (const { section } of sections) for (const name of Object.keys(section.regions ?? {})) known.add(name);
  if (known.has(found.value)) return found;
  const like = nearest(found.value, known);
  const available = `available regions: ${[...known].join(', ')}`;
  throw unknown('region', found, like, ({ command }) =>
    toRun(
      `${available}; to add this one`,
      `${command('config', 'set', `regions.${found.value}.base_url`)} https://…`,
    ),
  );
}

/**
 * The error for an unknown name: a `UsageError` if a flag gave it, otherwise a `ConfigError`.
 * @param like a known name that is similar
 * @param add how to add the name; not for one that cannot be in the config file
 */
function unknown(what: string, found: Found<string>, like: string | undefined, add: Hint): Error {
  const message = `unknown ${what} "${found.value}" (${found.origin})`;
  const hint: Hint = like ? () => `did you mean "${like}"?` : NAME.test(found.value) ? add : () => NAME_RULE;
  return hinted(found.origin.startsWith('flag ') ? new UsageError(message) : new ConfigError(message), hint);
}
