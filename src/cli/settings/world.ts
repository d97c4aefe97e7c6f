import type { GLOBAL, RawFlags } from '../options/index.js';

/** The part of the world that settings are read from; `World` and `Context` satisfy it. */
export interface SettingsWorld {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  cwd: string;
}

/** The flags that choose settings, as commander names them. */
export type SettingsFlags = Pick<
  RawFlags<typeof GLOBAL>,
  | 'config'
  | 'account'
  | 'region'
  | 'baseUrl'
  | 'lookupBaseUrl'
  | 'tokenFile'
  | 'state'
  | 'stateDir'
  | 'timeout'
>;
