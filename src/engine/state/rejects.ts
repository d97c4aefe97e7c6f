/** Records of rejects files: how their rows were read, and how each file is recognized. */
import { bytesOf, hashesOf } from '../fingerprints/tables.js';
import type { Access } from './access.js';
import { insertInto, type Sql, STORED, sql, storedJson, storedOrNull } from './database.js';

export interface RejectsRecord {
  /** The run that the rows of the file name (`_profiles_run`). */
  run: string;
  input: number;
  /** The run that the rows belong to. Differs from `run` if the import later continued an earlier run. */
  owner: string;
  /** Absolute path of the file. */
  location: string;
  /** SHA-256 of the input, hexadecimal. */
  digest: string;
  /** Identifies the unchanged file; null if it was edited before the import added rows. */
  mark: { inode: string; sha256: string } | null;
  /** How the rows were read: a `Reading` of `run/rejects-form.ts`. Has no cell values. */
  reading: unknown;
  /** Keyed hashes, in ascending order, of rows that were rejected only because of their shape, and of identifiers. */
  unedited: BigUint64Array;
  /** What its run had to send, if it sent nothing; otherwise null. An `Unsent` of `run/rejects-form.ts`. Has no cell values. */
  unsent: unknown;
}

/** A record as it is read. */
export type WrittenRejects = RejectsRecord & { /** ISO 8601. */ written_at: string };

/** How long to keep records of files without a run: dry runs write rejects files, too. */
const KEEP_DAYS = 90;

/** The JSON of a record. */
type Rest = Pick<RejectsRecord, 'reading' | 'unsent'>;
type RejectsRow = Omit<WrittenRejects, 'mark' | 'unedited' | keyof Rest> & {
  mark: string | null;
  record: string;
  unedited: Uint8Array;
};

/** Where the rejects files of runs are; the last one of an input comes last. */
export const rejectsPlaces = (access: Access) =>
  access.all<Pick<RejectsRecord, 'owner' | 'input' | 'location'>>(
    sql`SELECT owner, input, location FROM rejects ORDER BY written_at`,
  );

export class Rejects {
  constructor(private readonly access: Access) {}

  /** Records a rejects file after rows were written to it. */
  put({ mark, reading, unedited, unsent, ...own }: RejectsRecord): Promise<void> {
    const { run, input, location } = own;
    const oldest = new Date(this.access.now() - KEEP_DAYS * 86_400_000).toISOString();
    const row = {
      ...own,
      mark: mark && JSON.stringify(mark),
      record: JSON.stringify({ reading, unsent } satisfies Rest),
      unedited: bytesOf(unedited),
      written_at: this.access.time(),
    };
    return this.access.write(async (tx) => {
      await tx.run(
        sql`DELETE FROM rejects WHERE run = ${run} AND input = ${input}
          OR written_at < ${oldest} AND owner NOT IN (SELECT run FROM runs)`,
      );
      // If this file replaces another one, the record of that one must not match it.
      await tx.run(sql`UPDATE rejects SET mark = NULL WHERE location = ${location}`);
      await tx.run(insertInto('rejects', row));
    });
  }

  /** The marks of files that were written for an input of this digest, by location. */
  async marksOf(digest: string): Promise<Map<string, NonNullable<RejectsRecord['mark']>>> {
    const records = await this.#where(sql`digest = ${digest} AND mark IS NOT NULL`);
    return new Map(records.map(({ location, mark }) => [location, mark!]));
  }

  /**
   * Records of all rejects files of the run that owns the rows with this run in `_profiles_run`, also those with another
   * `run` in their rows. Empty if there is none.
   */
  ofRun(run: string): Promise<WrittenRejects[]> {
    return this.#where(sql`owner IN (SELECT owner FROM rejects WHERE run = ${run})`);
  }

  async #where(condition: Sql): Promise<WrittenRejects[]> {
    const query = sql`SELECT * FROM rejects WHERE ${condition} ORDER BY input, run`;
    const rows = await this.access.all<RejectsRow>(query);
    return rows.map(({ mark, record, unedited, ...row }) => ({
      ...row,
      ...storedJson<Rest>(record, STORED.rejects, row.run),
      mark: storedOrNull<{ inode: string; sha256: string }>(mark, STORED.mark, row.run),
      unedited: hashesOf(unedited),
    }));
  }
}
