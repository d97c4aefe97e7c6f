/** The command as people type it, and what it prints: pages of sessions, each in a folder of its own. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { transcript } from '../support/transcript.js';

const FOLDER = join(import.meta.dirname, 'transcripts');

const only = process.env.PAGES?.split(' ').filter(Boolean) ?? [];
for (const name of readdirSync(FOLDER).sort())
  if (only.length === 0 || only.includes(name)) transcript(join(FOLDER, name));
