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
 * `--state`, otherwise `$PROFILES_STATE`, otherwise the key `state` of the account or at the top, otherwise this
 * machine's own folder. A folder holds everything; beside a database, the machine keeps its files in its own folder.
 * @throws UsageError for a flag that contains a password
 */
export function stateSetting(
  { world, flags, config }: Sources,
  sections: readonly Place[],
): { state: Found<Settings['state']>; stateDir: Found<string> } {
  const inFile = sections.find(({ section }) => section.state !== undefined);
  const found =
    flagOrVariable(world, flags, 'state') ??
    (inFile && { value: inFile.section.state!, origin: `${config.path} (${inFile.prefix}state)` });
  const inFolder = ({ value: folder, origin }: Found<string>) => ({
    state: { value: { kind: 'sqlite', folder }, origin } as const,
    stateDir: { value: folder, origin },
  });
  if (!found) return inFolder(stateLocation(world));
  const { value: text, origin } = found;
  const isFlag = origin.startsWith('flag ');
  if (isFlag) refusePassword(text, setting(found));
  const read = () => stateLocationOf(text, setting(found), world);
  const location = isFlag ? asUsage(read) : read();
  if (location.kind === 'sqlite') return inFolder({ value: location.folder, origin });
  return {
    state: { value: { kind: 'postgres', url: new Secret(location.url) }, origin },
    stateDir: stateLocation(world),
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

/** The location of a state in a database; undefined if it is in the state directory. */
export function stateElsewhere({ state, origins }: Settings, { env, abort }: Reach): Elsewhere | undefined {
  if (state.kind === 'sqlite') return undefined;
  return { at: { kind: state.kind, url: state.url.reveal() }, env, origin: origins.state!, signal: abort };
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
