/** Where the state is (contract §10): a folder, or a PostgreSQL database. */
import { UsageError } from '../../engine/errors.js';
import { hasPassword, stateLocationOf } from '../../engine/state/location.js';
import type { Elsewhere } from '../../engine/state/state.js';
import { GLOBAL } from '../options/index.js';
import { asUsage, type Found, flagOrVariable, setting, stateLocation } from './location.js';
import { Secret } from './secret.js';
import type { Place, Sources } from './sources.js';
import type { Settings, SettingsWorld } from './types.js';

/**
 * `--state`, otherwise `$PROFILES_STATE`, otherwise the key `state` of the account or at the top, otherwise
 * the state directory.
 * @throws UsageError for a flag that contains a password
 */
export function stateSetting(
  { world, flags, config }: Sources,
  sections: readonly Place[],
): Found<Settings['state']> {
  const { value: folder, origin: folderOrigin } = stateLocation(world, flags);
  const inFile = sections.find(({ section }) => section.state !== undefined);
  const found =
    flagOrVariable(world, flags, 'state') ??
    (inFile && { value: inFile.section.state!, origin: `${config.path} (${inFile.prefix}state)` });
  if (!found) return { value: { kind: 'sqlite', folder }, origin: folderOrigin };
  const { value: text, origin } = found;
  const isFlag = origin.startsWith('flag ');
  if (isFlag) refusePassword(text, setting(found));
  const read = () => stateLocationOf(text, setting(found), world);
  const location = isFlag ? asUsage(read) : read();
  return {
    value: location.kind === 'sqlite' ? location : { kind: 'postgres', url: new Secret(location.url) },
    origin,
  };
}

/** @throws UsageError for a flag that contains a password */
function refusePassword(text: string, flag: string): void {
  if (!hasPassword(text)) return;
  throw new UsageError(
    `${flag}: a password on the command line would be visible in ps and in your shell history`,
    { hint: `set ${GLOBAL.state.env} to the URL, or leave the password to PGPASSWORD or a password file` },
  );
}

/** What opening a database needs. */
interface Reach extends Pick<SettingsWorld, 'env'> {
  abort: AbortSignal;
}

/** The location of a state outside the state directory; undefined if it is in that directory. */
export function stateElsewhere(
  { state, stateDir, origins }: Settings,
  { env, abort }: Reach,
): Elsewhere | undefined {
  if (state.kind === 'sqlite' && state.folder === stateDir) return undefined;
  const at = state.kind === 'sqlite' ? state : { kind: state.kind, url: state.url.reveal() };
  return { at, env, origin: origins.state!, signal: abort };
}

/** Parses the state that a flag names. @throws UsageError */
export function stateNamed(
  text: string,
  flag: string,
  { cwd, platform, env, abort }: Reach & Pick<SettingsWorld, 'cwd' | 'platform'>,
): Elsewhere {
  refusePassword(text, flag);
  const at = asUsage(() => stateLocationOf(text, flag, { cwd, platform }));
  return { at, env, origin: flag, signal: abort };
}
