/** The table `meta`: facts about a state as a whole. */
import { randomBytes } from 'node:crypto';
import { UsageError } from '../errors.js';
import { insert, type Reader, type Transaction } from './database.js';

/** The location to which the state moved, without a password. */
export const MOVED_TO = 'moved_to';
/** The identity of the state of which this one is a copy that is not complete yet. */
export const COPY_OF = 'copy_of';

export async function metaOf(on: Reader, name: string): Promise<string | null> {
  const row = await on.get<{ value: string }>('SELECT value FROM meta WHERE name = ?', name);
  return row?.value ?? null;
}

export async function setMeta(tx: Transaction, name: string, value: string | null): Promise<void> {
  await tx.run('DELETE FROM meta WHERE name = ?', name);
  if (value !== null) await insert(tx, 'meta', { name, value });
}

/** The key of all stored hashes; null if there is none. */
export async function readSecret(on: Reader): Promise<Buffer | null> {
  const key = await metaOf(on, 'secret');
  return key === null ? null : Buffer.from(key, 'hex');
}

/** Creates the key, unless another process has. */
export async function createSecret(tx: Transaction): Promise<Buffer> {
  const known = await readSecret(tx);
  if (known) return known;
  const key = randomBytes(32);
  await setMeta(tx, 'secret', key.toString('hex'));
  return key;
}

/**
 * The next number of a send, run, or plan, larger than those of all earlier ones, also of deleted ones. It is counted
 * within the transaction, so that numbers follow the order of commits, and none is used twice.
 */
export async function nextNumber(tx: Transaction): Promise<number> {
  const row = await tx.get<{ number: number }>(
    `UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE name = 'number'
     RETURNING CAST(value AS BIGINT) AS number`,
  );
  return row!.number;
}

/**
 * Checks that the state can be used for an import.
 * @throws UsageError if it has moved, or is an unfinished copy: new records in it would be lost
 */
export async function refuseMoved(on: Reader): Promise<void> {
  const to = await metaOf(on, MOVED_TO);
  if (to !== null) {
    throw new UsageError(`this state has moved to ${to}`, {
      hint: 'import with the state that it has moved to',
      problem: { code: 'state_moved', to },
    });
  }
  if ((await metaOf(on, COPY_OF)) === null) return;
  throw new UsageError('another state is being copied into this one', {
    hint: 'finish the copy first',
    problem: { code: 'state_incomplete' },
  });
}
