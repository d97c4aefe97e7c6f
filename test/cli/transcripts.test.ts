/** The command as people type it, and what it prints: pages of sessions, each in a folder of its own. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { onPostgres } from '../support/state.js';
import { transcript } from '../support/transcript.js';

const FOLDER = join(import.meta.dirname, 'transcripts');

/** What says the same whichever database the state is in. */
const ON_EITHER =
  'between.md canary.md changes.md follow.md history.md identify.md import.md isolate.md outcomes.md plans.md rejected-before.md rejects.md runs.md selected.md';

const only = (process.env.PAGES ?? (onPostgres ? ON_EITHER : '')).split(' ').filter(Boolean);
for (const name of readdirSync(FOLDER).sort())
  if (only.length === 0 || only.includes(name)) transcript(join(FOLDER, name));
