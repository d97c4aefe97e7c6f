/**
 * Checks that the database and the locks in use are still on disk (contract §4). Writes to a removed file are
 * lost.
 */
import { type BigIntStats, statSync } from 'node:fs';
import { StateError, StateLostError } from '../../errors.js';

/** Identifies a file independently of its name. */
type Identity = Pick<BigIntStats, 'dev' | 'ino'>;

/** Undefined if the file does not exist or cannot be reached. */
function identityOf(file: string): Identity | undefined {
  try {
    return statSync(file, { bigint: true });
  } catch {
    return undefined;
  }
}

/** The files of the database and of the locks that this process has. */
export class FilesInUse {
  readonly #locks = new Map<string, Identity | undefined>();
  readonly #database: Identity | undefined;

  /** @param database path of the database, which was just opened */
  constructor(private readonly database: string) {
    this.#database = identityOf(database);
  }

  /** Adds the file of a lock that was taken. @returns a function that removes it */
  hold(lock: string): () => void {
    this.#locks.set(lock, identityOf(lock));
    return () => void this.#locks.delete(lock);
  }

  /** @throws StateLostError if the database was removed or replaced; StateError if a lock was */
  check(): void {
    const changed = changeOf(this.database, this.#database);
    if (changed !== null) {
      throw new StateLostError(`${this.database} was ${changed} while it was in use; nothing more is sent`, {
        hint: 'no record of this run is left; stop whatever removes the state directory, then import the files again',
      });
    }
    for (const [lock, identity] of this.#locks) {
      const change = changeOf(lock, identity);
      if (change === null) continue;
      throw new StateError(`the lock ${lock} was ${change} while it was in use; nothing more is sent`, {
        hint: 'another import may have started in the meantime: look at the runs, then resume this one',
        problem: { code: 'lock_lost' },
      });
    }
  }
}

function changeOf(file: string, opened: Identity | undefined): 'removed' | 'replaced' | null {
  const now = identityOf(file);
  if (!now) return 'removed';
  return now.dev === opened?.dev && now.ino === opened.ino ? null : 'replaced';
}
