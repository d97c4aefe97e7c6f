/** Notes about a state as a whole: where it has moved, or which state is being copied to it. */
import { UsageError } from '../errors.js';
import type { Reader, Transaction } from './database.js';

/** The table `notes`. */
export class Notes {
  async get(on: Reader, name: string): Promise<string | null> {
    const row = await on.get<{ value: string }>('SELECT value FROM notes WHERE name = ?', name);
    return row?.value ?? null;
  }

  async set(tx: Transaction, name: string, value: string): Promise<void> {
    await tx.run(
      'INSERT INTO notes (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      name,
      value,
    );
  }

  async delete(tx: Transaction, name: string): Promise<void> {
    await tx.run('DELETE FROM notes WHERE name = ?', name);
  }

  /**
   * Checks that the state can be used for an import.
   * @throws UsageError if it has moved, or is the target of an unfinished copy: new records in it would be
   * lost
   */
  async refuseMoved(on: Reader): Promise<void> {
    const to = await this.get(on, MOVED_TO);
    if (to !== null) {
      throw new UsageError(`this state has moved to ${to}`, {
        hint: 'import with the state that it has moved to',
        problem: { code: 'state_moved', to },
      });
    }
    if ((await this.get(on, COPYING)) === null) return;
    throw new UsageError('another state is being copied into this one', {
      hint: 'finish the copy first',
      problem: { code: 'state_incomplete' },
    });
  }
}

/** Name of the note with the location to which the state moved, without a password. */
export const MOVED_TO = 'moved_to';
/** Name of the note with the identity of the state that is being copied to this one. */
export const COPYING = 'copying';
