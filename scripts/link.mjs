// In a checkout, `npx profiles` runs this program, and does not look for a package of that name. npm makes
// such links only for dependencies. Windows does not need one.
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink } from 'node:fs/promises';

// npm makes such links for dependencies only; Windows has no use for them.
if (process.platform !== 'win32' && existsSync('node_modules')) {
  await mkdir('node_modules/.bin', { recursive: true });
  await rm('node_modules/.bin/profiles', { force: true });
  await symlink('../../bin/profiles.js', 'node_modules/.bin/profiles');
}
