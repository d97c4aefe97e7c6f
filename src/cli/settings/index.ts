/** Settings (contract §2): where they are, what they contain, and how they are read and written. */

export { isLoopback, parseHost } from '../../engine/service/address.js';
export { BUILT_IN_REGIONS } from './choose.js';
export { decideSettings } from './decide.js';
export { type ReadConfig, readConfig, writeConfig } from './file.js';
export { configLocation, stateName } from './location.js';
export {
  hasToken,
  hostLines,
  requireBaseUrl,
  requireLookupBaseUrl,
  requireToken,
  tokenFrom,
} from './require.js';
export { resolveSettings } from './resolve.js';
export { readToken, Secret } from './secret.js';
export { camelCase } from './sources.js';
export { stateElsewhere, stateNamed } from './state.js';
export { readTokenFile } from './token-file.js';
export type { Settings, SettingsFlags, SettingsWorld } from './types.js';
