/** Rejects files that runs wrote: how their rows were read, and by what each file is known again. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';

export interface RejectsRecord {
  /** As it stands in the rows (`_profiles_run`). */
  run: string;
  input: number;
  /** The recorded run to which the rows belong: another one where an import went on with an earlier run. */
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
  put(record: RejectsRecord): void;
  /** The file of that name as it was written last; null where none is known. @param location absolute */
  at(location: string): RejectsRecord | null;
  /** What is known of the files of a run, by what stands in their rows. None for a run that is not known. */
  ofRun(run: string): RejectsRecord[];
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
    private readonly db: DatabaseSyncInstance,
    private readonly write: (work: (at: string) => void) => void,
  ) {}

  put(record: RejectsRecord): void {
    this.write((at) => this.#put(record, at));
  }

  #put(record: RejectsRecord, at: string): void {
    const { run, input, owner, location, digest, mark, reading, unedited } = record;
    const oldest = new Date(Date.parse(at) - KEEP_DAYS * 86_400_000).toISOString();
    this.db
      .prepare('DELETE FROM rejects WHERE written_at < ? AND owner NOT IN (SELECT run FROM runs)')
      .run(oldest);
    // What was known of the file that is replaced says nothing of this one.
    this.db.prepare('UPDATE rejects SET inode = NULL, sha256 = NULL WHERE location = ?').run(location);
    this.db
      .prepare(
        `INSERT OR REPLACE INTO rejects (run, input, owner, location, digest, inode, sha256, reading, unedited, written_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        run,
        input,
        owner,
        location,
        digest,
        mark?.inode ?? null,
        mark?.sha256 ?? null,
        JSON.stringify(reading),
        new Uint8Array(unedited.buffer, unedited.byteOffset, unedited.byteLength),
        at,
      );
  }

  at(location: string): RejectsRecord | null {
    const row = this.db
      .prepare('SELECT * FROM rejects WHERE location = ? AND sha256 IS NOT NULL')
      .get(location) as Row | undefined;
    return row ? recordOf(row) : null;
  }

  /** Those of all runs whose rows went into files with it, too. */
  ofRun(run: string): RejectsRecord[] {
    const rows = this.db
      .prepare(
        'SELECT * FROM rejects WHERE owner IN (SELECT owner FROM rejects WHERE run = ?) ORDER BY input, run',
      )
      .all(run) as unknown as Row[];
    return rows.map(recordOf);
  }

  forget(run: string): void {
    this.db.prepare('DELETE FROM rejects WHERE owner = ? OR run = ?').run(run, run);
  }
}

function recordOf({ inode, sha256, reading, unedited, ...row }: Row): RejectsRecord {
  return {
    ...row,
    mark: inode === null || sha256 === null ? null : { inode, sha256 },
    reading: JSON.parse(reading) as unknown,
    // In memory of its own: a blob need not begin where a number may.
    unedited: new BigUint64Array(Uint8Array.from(unedited).buffer),
  };
}
