// Writes dist/: the bundles and the declaration files. The old files stay in place until the new ones are
// ready.
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from './scripts/bundle.mjs';
import { declarations } from './scripts/types.mjs';

const [{ files }, types] = await Promise.all([
  bundle(),
  declarations({ 'index.d.ts': 'engine/index.ts', 'sandbox.d.ts': 'sandbox/index.ts' }),
]);
for (const [name, text] of Object.entries(types)) files.set(name, text);

// Each file is replaced in one step: a command may be starting from dist/ right now, and another build may be running.
await mkdir('dist', { recursive: true });
const parts = await mkdtemp('node_modules/.build-');
for (const [name, text] of files) {
  await writeFile(join(parts, name), text);
  await rename(join(parts, name), join('dist', name));
}
await rm(parts, { recursive: true });
for (const name of await readdir('dist')) {
  if (!files.has(name)) await rm(join('dist', name), { recursive: true, force: true });
}
