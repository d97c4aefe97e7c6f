/** All commands, in the order of help. The file of a command is loaded only when the command is called. */
import type { CommandEntry } from './command.js';

type Row = readonly [name: string, summary: string, load: CommandEntry['load']];

const below = (heading: string, rows: readonly Row[]): CommandEntry[] =>
  rows.map(([name, summary, load]) => ({ heading, name, summary, load }));

export const COMMANDS: readonly CommandEntry[] = [
  ...below('Start here', [
    ['import', 'plan, send, and account for companies or users', () => import('./import.js')],
    ['inspect', 'show what an import would read; --write-mapping saves it', () => import('./inspect.js')],
    ['sandbox', 'run the embedded service, show or erase its data', () => import('./sandbox.js')],
    ['doctor', 'check config, state, connection, token, and clock', () => import('./doctor.js')],
  ]),
  ...below('Carry on', [
    ['resume', 'continue an unfinished import', () => import('./resume.js')],
    ['apply', 'send a saved plan', () => import('./apply.js')],
    ['runs', 'list imports, show one, or forget one', () => import('./runs.js')],
    ['history', 'show what is known of one company or user', () => import('./history.js')],
  ]),
  ...below('Service', [
    [
      'job',
      'show background jobs, or follow them',
      async () => ({ command: (await import('./jobs.js')).job }),
    ],
    ['jobs', 'list jobs and their last known status', () => import('./jobs.js')],
    ['lookups', 'print a lookup list, such as embeds', () => import('./lookups.js')],
    ['identify', 'create or update one profile', () => import('./identify.js')],
  ]),
  ...below('Set up', [
    ['config', 'read and write the config file', () => import('./config.js')],
    ['state', 'show, check, or back up the record of past imports', () => import('./state.js')],
    ['completion', 'print a shell completion script', () => import('./completion.js')],
    ['help', 'show help for a command or topic', () => import('./help.js')],
  ]),
];
