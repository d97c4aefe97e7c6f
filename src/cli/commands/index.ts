/** All commands, in the order of help. The file of a command is loaded only when the command is called. */
import type { AnySpec } from './command.js';
import TEXTS from './commands.json' with { type: 'json' };

export interface CommandEntry {
  /** Where help lists it. */
  heading: string;
  name: string;
  summary: string;
  /** Loads the command's file. */
  load(): Promise<{ command: AnySpec }>;
}

const LOAD = {
  import: () => import('./import.js'),
  inspect: () => import('./inspect.js'),
  sandbox: () => import('./sandbox.js'),
  doctor: () => import('./doctor.js'),
  resume: () => import('./resume.js'),
  apply: () => import('./apply.js'),
  runs: () => import('./runs.js'),
  history: () => import('./history.js'),
  job: async () => ({ command: (await import('./jobs.js')).job }),
  jobs: () => import('./jobs.js'),
  lookups: () => import('./lookups.js'),
  identify: () => import('./identify.js'),
  config: () => import('./config.js'),
  state: () => import('./state.js'),
  completion: () => import('./completion.js'),
  help: () => import('./help.js'),
};

export const COMMANDS = Object.entries(LOAD).map(([name, load]): CommandEntry => {
  const { heading, summary } = TEXTS[name as keyof typeof LOAD];
  return { heading, name, summary, load };
});
