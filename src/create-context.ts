/** Opens what a command asks for, once, and closes it again. */
import type { Context, GlobalFlags, World } from './context.js';
import { resolveSettings, type Settings } from './settings/index.js';

export function createContext(world: World, flags: GlobalFlags): Context {
  const opened: (() => void | Promise<void>)[] = [];
  let settings: Promise<Settings> | undefined;
  const warn = (message: string): void => {
    if (!flags.quiet) world.stderr.write(`warning: ${message}\n`);
  };
  return {
    ...world,
    flags,
    settings: () => {
      settings ??= resolveSettings(world, flags).then((found) => {
        for (const warning of found.warnings) warn(warning);
        return found;
      });
      return settings;
    },
    client: async () => {
      throw new Error('client: not built');
    },
    state: async () => {
      throw new Error('state: not built');
    },
    warn,
    close: async () => {
      for (const close of opened.reverse()) await close();
    },
  };
}
