/** All commands, in the order the help shows them. A file is loaded only when its command is called. */
import type { CommandModule } from './command.js';

export interface CommandEntry {
  name: string;
  summary: string;
  load(): Promise<CommandModule>;
}

export const COMMANDS: readonly CommandEntry[] = [
  { name: 'job', summary: 'show background jobs, or follow them', load: () => import('./job.js') },
  { name: 'jobs', summary: 'list the jobs known to this machine', load: () => import('./jobs.js') },
  {
    name: 'lookups',
    summary: 'list user properties, embeds or checklists',
    load: () => import('./lookups.js'),
  },
  { name: 'config', summary: 'read and write the config file', load: () => import('./config.js') },
];
