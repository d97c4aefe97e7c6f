/** The part of the world that settings are read from; `World` and `Context` satisfy it. */
export interface SettingsWorld {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  cwd: string;
}

/** The flags that choose settings, as commander names them. */
export interface SettingsFlags {
  config?: string;
  account?: string;
  region?: string;
  baseUrl?: string;
  lookupBaseUrl?: string;
  tokenFile?: string;
  stateDir?: string;
  timeout?: string;
}
