// Writes dist/: the bundles and the declaration files. The old files stay in place until the new ones are
// ready.
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from './scripts/bundle.mjs';
import { declarations } from './scripts/types.mjs';

const [{ files }, types] = await Promise.all([
  bundle(),
  declarations({ 'index.d.ts': 'engine/index.ts', 'sandbox.d.ts': 'sandbox/index.ts' }),
]);
for (const [name, text] of Object.entries(types)) files.set(name, text);

/** Replaces a file in one step, because a command may be starting from dist/ right now. */
async function write(name, text) {
  const part = join('dist', `.${name}.${process.pid}`);
  await writeFile(part, text);
  await rename(part, join('dist', name));
}

await mkdir('dist', { recursive: true });
for (const [name, text] of files) await write(name, text);
for (const name of await readdir('dist')) {
  if (!files.has(name)) await rm(join('dist', name), { recursive: true });
}
