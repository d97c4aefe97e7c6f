/** Notes about a state as a whole: that it has moved, or that another state is being copied to it. */
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
   * Refuses a state that has moved or is being copied to: records in it would be lost.
   * @throws UsageError
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

/** Where the state moved, without a password. */
export const MOVED_TO = 'moved_to';
/** Which state is being copied to it. */
export const COPYING = 'copying';
