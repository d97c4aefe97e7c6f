/** All commands, in the order of help. The file of a command is loaded only when the command is called. */
import type { CommandEntry } from './command.js';

const entry = (name: string, summary: string, load: CommandEntry['load']): CommandEntry => ({
  name,
  summary,
  load,
});

export const COMMANDS: readonly CommandEntry[] = [
  entry('import', 'plan, send, and account for companies or users', () => import('./import.js')),
  entry('apply', 'send a saved plan', () => import('./apply.js')),
  entry('resume', 'continue an unfinished import', () => import('./resume.js')),
  entry('runs', 'list imports, show one, or forget one', () => import('./runs.js')),
  entry('history', 'show what is known of one company or user', () => import('./history.js')),
  entry('job', 'show background jobs, or follow them', async () => ({
    command: (await import('./jobs.js')).job,
  })),
  entry('jobs', 'list jobs and their last known status', () => import('./jobs.js')),
  entry('lookups', 'print a lookup list, such as embeds', () => import('./lookups.js')),
  entry('identify', 'create or update one profile', () => import('./identify.js')),
  entry('inspect', 'show what an import would read; --write-mapping saves it', () => import('./inspect.js')),
  entry('config', 'read and write the config file', () => import('./config.js')),
  entry('doctor', 'check config, state, connection, token, and clock', () => import('./doctor.js')),
  entry('state', 'show, check, or back up the record of past imports', () => import('./state.js')),
  entry('sandbox', 'run the embedded service, show or erase its data', () => import('./sandbox.js')),
  entry('completion', 'print a shell completion script', () => import('./completion.js')),
  entry('help', 'show help for a command or topic', () => import('./help.js')),
];
