/** Help for new users: what to run first, and the command for a word from another program. */
import { existsSync } from 'node:fs';
import type { World } from '../context.js';
import { configLocation } from '../settings/sources.js';

const STEPS = `Nothing is set up yet. Try it without an account, then connect yours:
  profiles import companies.csv --dry-run         what an import of your file would send
  profiles import companies.csv --region sandbox  rehearse it against the embedded service
  profiles config init                            set the hosts and the API key of your account
profiles --help lists all commands.
`;

/** The text, if stdout is a terminal and nothing is configured yet; otherwise null. */
export function firstSteps({ stdout, env, platform, cwd }: World): string | null {
  const isSet = ['PROFILES_CONFIG', 'PROFILES_ACCOUNT', 'PROFILES_REGION', 'PROFILES_BASE_URL'].some(
    (name) => env[name],
  );
  if (!stdout.isTTY || isSet) return null;
  try {
    return existsSync(configLocation({ env, platform, cwd }, {}).value) ? null : STEPS;
  } catch {
    return null; // no home folder
  }
}

const KEY = 'to set your API key: profiles config set token; for hosts and key: profiles config init';
const SETUP = 'to write the config file: profiles config init';
const IMPORT = 'to send a file: profiles import companies.csv';
const RUNS = 'for imports and how they ended: profiles runs; for jobs: profiles jobs';

export const HABITS: ReadonlyMap<string, string> = new Map([
  ['login', KEY],
  ['auth', KEY],
  ['init', SETUP],
  ['setup', SETUP],
  ['configure', SETUP],
  ['whoami', 'for the account and whether it works: profiles doctor'],
  ['check', 'for settings and connection: profiles doctor; for a file: profiles inspect companies.csv'],
  ['upload', IMPORT],
  ['push', IMPORT],
  ['send', IMPORT],
  ['sync', 'to send what changed: profiles import companies.csv --changed-only'],
  ['retry', 'to continue an import: profiles resume'],
  ['continue', 'to continue an import: profiles resume'],
  ['list', RUNS],
  ['ls', RUNS],
  ['status', RUNS],
]);
