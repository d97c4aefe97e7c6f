/** All commands, in the order the help shows them. A file is loaded only when its command is called. */
import type { Command } from 'commander';
import type { CommandEntry, Wire } from './command.js';

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'import',
    summary: 'plan, then send companies or users from files',
    load: () => import('./import.js'),
  },
  { name: 'resume', summary: 'continue an unfinished import', load: () => import('./resume.js') },
  { name: 'runs', summary: 'list imports, show one, or forget one', load: () => import('./runs.js') },
  { name: 'job', summary: 'show background jobs, or follow them', load: () => import('./job.js') },
  { name: 'jobs', summary: 'list the jobs known to this machine', load: () => import('./jobs.js') },
  {
    name: 'lookups',
    summary: 'print a lookup list, such as embeds',
    load: () => import('./lookups.js'),
  },
  { name: 'identify', summary: 'create or update one profile', load: () => import('./identify.js') },
  {
    name: 'inspect',
    summary: 'show what an import would see of its files',
    load: () => import('./inspect.js'),
  },
  { name: 'config', summary: 'read and write the config file', load: () => import('./config.js') },
  {
    name: 'doctor',
    summary: 'check config, state, reachability, authorization and clock',
    load: () => import('./doctor.js'),
  },
  {
    name: 'state',
    summary: 'show, check or back up what is remembered of imports',
    load: () => import('./state.js'),
  },
  {
    name: 'sandbox',
    summary: 'serve the embedded service, show or erase what it holds',
    load: () => import('./sandbox.js'),
  },
  {
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: () => import('./completion.js'),
  },
  { name: 'help', summary: 'help about a command or a topic', load: () => import('./help.js') },
];

/** Declares a command: its arguments, examples and subcommands, and the options that the table gives each of them. */
export async function declare(entry: CommandEntry, command: Command, wire: Wire): Promise<void> {
  const [{ define }, { declareOptions }] = await Promise.all([entry.load(), import('../options/index.js')]);
  define(command, wire, { list: COMMANDS, declare });
  declareOptions(command);
}
