/** All commands, in the order of help. The file of a command is loaded only when the command is called. */
import type { CommandEntry } from './command.js';

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'import',
    summary: 'plan, send, and account for companies or users',
    load: () => import('./import.js'),
  },
  { name: 'apply', summary: 'send a saved plan', load: () => import('./apply.js') },
  { name: 'resume', summary: 'continue an unfinished import', load: () => import('./resume.js') },
  { name: 'runs', summary: 'list imports, show one, or forget one', load: () => import('./runs.js') },
  {
    name: 'history',
    summary: 'show what is known of one company or user',
    load: () => import('./history.js'),
  },
  { name: 'job', summary: 'show background jobs, or follow them', load: () => import('./job.js') },
  { name: 'jobs', summary: 'list jobs and their last known status', load: () => import('./jobs.js') },
  {
    name: 'lookups',
    summary: 'print a lookup list, such as embeds',
    load: () => import('./lookups.js'),
  },
  { name: 'identify', summary: 'create or update one profile', load: () => import('./identify.js') },
  {
    name: 'inspect',
    summary: 'show what an import would read; --write-mapping saves it',
    load: () => import('./inspect.js'),
  },
  { name: 'config', summary: 'read and write the config file', load: () => import('./config.js') },
  {
    name: 'doctor',
    summary: 'check config, state, connection, token, and clock',
    load: () => import('./doctor.js'),
  },
  {
    name: 'state',
    summary: 'show, check, or back up the record of past imports',
    load: () => import('./state.js'),
  },
  {
    name: 'sandbox',
    summary: 'run the embedded service, show or erase its data',
    load: () => import('./sandbox.js'),
  },
  {
    name: 'completion',
    summary: 'print a shell completion script',
    load: () => import('./completion.js'),
  },
  { name: 'help', summary: 'show help for a command or topic', load: () => import('./help.js') },
];
