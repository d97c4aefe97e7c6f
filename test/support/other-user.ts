import { cpSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Another user of the machine, whom only root can act for: `nobody`. Null if this user is not root. */
export const OTHER = process.geteuid?.() === 0 ? 65_534 : null;

/** The name of a test that needs another user. It says when the test is left out. */
export const asRoot = (name: string): string =>
  OTHER === null ? `${name} (left out: only root can make files of another user)` : name;

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Copies the built command and what it loads to a folder, where another user can read it: the checkout may be below a
 * folder that only root may enter.
 * @returns the file of the command
 */
export function copyOfCommand(folder: string): string {
  mkdirSync(folder, { mode: 0o755 });
  const native = ['@photostructure/sqlite', 'node-gyp-build'].map((name) => `node_modules/${name}`);
  for (const part of ['package.json', 'bin', 'dist', ...native]) {
    cpSync(join(ROOT, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.endsWith('.ts'),
    });
  }
  return join(folder, 'bin/profiles.js');
}
