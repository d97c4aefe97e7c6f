/** The private folders of runs on this machine, for spooled inputs and private values. */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { stateFolder } from './folder.js';

export class Spools {
  /** @param root the state directory */
  constructor(private readonly root: string) {}

  /** The folder of a run, which is created if needed. */
  folder(run: string): string {
    return stateFolder(this.root, 'spool', run);
  }

  /** All such folders, and when each was changed last, milliseconds since the epoch. */
  all(): { run: string; changedAt: number }[] {
    const folder = join(this.root, 'spool');
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names.map((run) => ({ run, changedAt: statSync(join(folder, run)).mtimeMs }));
  }

  /** Deletes such a folder, if it exists. */
  remove(run: string): void {
    rmSync(join(this.root, 'spool', run), { recursive: true, force: true });
  }
}
