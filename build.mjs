// Writes dist/: the bundles and the declaration files. What was there stays usable until the new files are.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from './scripts/bundle.mjs';
import { declarations } from './scripts/types.mjs';

const [{ files }, types] = await Promise.all([
  bundle(),
  declarations({ 'index.d.ts': 'index.ts', 'sandbox.d.ts': 'sandbox/index.ts' }),
]);
for (const [name, text] of Object.entries(types)) files.set(name, text);

await mkdir('dist', { recursive: true });
for (const [name, text] of files) await writeFile(join('dist', name), text);
for (const name of await readdir('dist')) {
  if (!files.has(name)) await rm(join('dist', name), { recursive: true });
}
