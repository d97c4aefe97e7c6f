// Writes npm-shrinkwrap.json for the packed file: the exact versions and digests of all it installs, from the lockfile.
// npm would read it in a checkout too, so it is removed after packing: node scripts/shrinkwrap.mjs --remove
import { readFile, rm, writeFile } from 'node:fs/promises';

const FILE = 'npm-shrinkwrap.json';
if (process.argv.includes('--remove')) await rm(FILE, { force: true });
else {
  const { packages, ...lock } = JSON.parse(await readFile('package-lock.json', 'utf8'));
  const { devDependencies, ...root } = packages[''];
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  const text = JSON.stringify({ ...lock, packages: { '': root, ...Object.fromEntries(installed) } }, null, 2);
  await writeFile(FILE, `${text}\n`);
}
