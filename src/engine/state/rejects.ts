/** Rejects files that runs wrote: how their rows were read, and by what each file is known again. */
import { bytesOf, hashesOf } from '../print-tables.js';
import type { Reader, Transaction } from './database.js';

export interface RejectsRecord {
  /** As it stands in the rows (`_profiles_run`). */
  run: string;
  input: number;
  /** The recorded run to which the rows belong: another one where an import continued with an earlier run. */
  owner: string;
  /** Absolute path of the file. */
  location: string;
  /** SHA-256 of the input, hexadecimal. */
  digest: string;
  /** By which the file is known again as it was written; null where somebody changed it before rows were added. */
  mark: { inode: string; sha256: string } | null;
  /** How the rows were read, as `run/origin.ts` writes it. No cell values. */
  reading: unknown;
  /** Keyed hashes of the rows that nothing but their shape speaks against, in ascending order. */
  unedited: BigUint64Array;
}

export interface RejectsStore {
  /** A rejects file as it was left. */
  put(record: RejectsRecord): Promise<void>;
  /** The file of that name as it was written last; null where none is known. @param location absolute */
  at(location: string): Promise<RejectsRecord | null>;
  /** Files that were written last for an input of this digest, and by what they are known: by their locations. */
  marksOf(digest: string): Promise<Map<string, NonNullable<RejectsRecord['mark']>>>;
  /** What is known of the files of a run, by what stands in their rows. None for a run that is not known. */
  ofRun(run: string): Promise<RejectsRecord[]>;
}

/** Plans that never became a run leave files too: what is known of those is kept as long. */
const KEEP_DAYS = 90;

type Row = Omit<RejectsRecord, 'mark' | 'reading' | 'unedited'> & {
  inode: string | null;
  sha256: string | null;
  reading: string;
  unedited: Uint8Array;
};

export class RejectsFiles implements RejectsStore {
  /** @param write in one transaction, given the time (ISO 8601) */
  constructor(
    private readonly on: Reader,
    private readonly write: (work: (tx: Transaction, at: string) => Promise<void>) => Promise<void>,
  ) {}

  put(record: RejectsRecord): Promise<void> {
    return this.write((tx, at) => this.#put(tx, record, at));
  }

  async #put(tx: Transaction, record: RejectsRecord, at: string): Promise<void> {
    const { run, input, owner, location, digest, mark, reading, unedited } = record;
    const oldest = new Date(Date.parse(at) - KEEP_DAYS * 86_400_000).toISOString();
    await tx.run('DELETE FROM rejects WHERE written_at < ? AND owner NOT IN (SELECT run FROM runs)', oldest);
    // What was known of the file that is replaced says nothing of this one.
    await tx.run('UPDATE rejects SET inode = NULL, sha256 = NULL WHERE location = ?', location);
    await tx.run(
      `INSERT INTO rejects (run, input, owner, location, digest, inode, sha256, reading, unedited, written_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (run, input) DO UPDATE SET owner = excluded.owner, location = excluded.location,
         digest = excluded.digest, inode = excluded.inode, sha256 = excluded.sha256, reading = excluded.reading,
         unedited = excluded.unedited, written_at = excluded.written_at`,
      run,
      input,
      owner,
      location,
      digest,
      mark?.inode ?? null,
      mark?.sha256 ?? null,
      JSON.stringify(reading),
      bytesOf(unedited),
      at,
    );
  }

  async at(location: string): Promise<RejectsRecord | null> {
    const row = await this.on.get<Row>(
      'SELECT * FROM rejects WHERE location = ? AND sha256 IS NOT NULL',
      location,
    );
    return row ? recordOf(row) : null;
  }

  async marksOf(digest: string): Promise<Map<string, NonNullable<RejectsRecord['mark']>>> {
    const rows = await this.on.all<{ location: string; inode: string; sha256: string }>(
      'SELECT location, inode, sha256 FROM rejects WHERE digest = ? AND sha256 IS NOT NULL',
      digest,
    );
    return new Map(rows.map(({ location, inode, sha256 }) => [location, { inode, sha256 }]));
  }

  /** Those of all runs whose rows went into files with it, too. */
  async ofRun(run: string): Promise<RejectsRecord[]> {
    const rows = await this.on.all<Row>(
      'SELECT * FROM rejects WHERE owner IN (SELECT owner FROM rejects WHERE run = ?) ORDER BY input, run',
      run,
    );
    return rows.map(recordOf);
  }

  async forget(tx: Transaction, run: string): Promise<void> {
    await tx.run('DELETE FROM rejects WHERE owner = ? OR run = ?', run, run);
  }
}

function recordOf({ inode, sha256, reading, unedited, ...row }: Row): RejectsRecord {
  return {
    ...row,
    mark: inode === null || sha256 === null ? null : { inode, sha256 },
    reading: JSON.parse(reading) as unknown,
    unedited: hashesOf(unedited),
  };
}
