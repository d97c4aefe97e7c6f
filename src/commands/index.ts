/** All commands, in the order the help shows them. A file is loaded only when its command is called. */
import type { CommandModule } from './command.js';

export interface CommandEntry {
  name: string;
  summary: string;
  load(): Promise<CommandModule>;
}

export const COMMANDS: readonly CommandEntry[] = [];
