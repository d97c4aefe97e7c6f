/** Installs the validator beside its tests, unless it is there already. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Lock {
  packages: Record<string, { version?: string } | undefined>;
}

const read = (path: string): Lock => JSON.parse(readFileSync(path, 'utf8')) as Lock;

/** Called by vitest before the first test. */
export default function install(): void {
  const folder = import.meta.dirname;
  // npm keeps a copy of the lock file of what it has installed.
  const installed = join(folder, 'node_modules/.package-lock.json');
  const name = 'node_modules/@stoplight/prism-cli';
  const wanted = read(join(folder, 'package-lock.json')).packages[name]?.version;
  if (existsSync(installed) && read(installed).packages[name]?.version === wanted) return;
  // Through a shell, since npm is a batch file on Windows.
  execFileSync('npm ci', { cwd: folder, shell: true, stdio: 'inherit' });
}
