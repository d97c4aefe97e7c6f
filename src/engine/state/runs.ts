/** Imports known to this machine, with what a resume needs to continue with them. */

import { type CellType, type Kind, kindsOf, type Summary } from '../model.js';
import type { Reader, Transaction } from './database.js';
import type { KnownRun, Scope } from './types.js';

/** An input of a run. `location` is where its bytes are: the file, or the spooled stdin. */
export interface RunInput {
  path: string;
  location: string;
  kind: Kind;
  /** SHA-256 of the raw bytes, hexadecimal. */
  digest: string;
  rejects_file: string | null;
  /** Of its columns, by position, as the run's plan decided them. Null in runs of version 0.1.0. */
  types: CellType[] | null;
}

export interface StoredRun extends KnownRun {
  /** Configured account name, or null. */
  named_account: string | null;
  /** Hash of content, kinds, mapping and host: by this an import finds the run to continue. */
  identity: string;
  finished: boolean;
  /** Error code that ended it, null when it ended by itself; `unauthorised` once a session ended so. */
  ended_by: string | null;
  /** Version of the rules by which its rows became items. */
  item_format: number;
  /** The import's own options, as the run keeps them; values set for every item are not among them. */
  options: unknown;
  inputs: RunInput[];
}

/** A run as it is recorded when it begins. */
export type NewRun = Omit<StoredRun, 'kinds' | 'paths' | 'summary' | 'ended_at' | 'ended_by'>;

/** Reasons and warnings quote what stood in a cell, and the state holds no metadata (contract §4). */
export const withoutCells = (summary: Summary): Summary => ({
  ...summary,
  rejected: [],
  causes: [],
  warnings: [],
});

interface RunRow {
  run: string;
  account: string;
  region: string;
  base_url: string;
  named_account: string | null;
  identity: string;
  status: KnownRun['status'];
  finished: number;
  ended_by: string | null;
  item_format: number | null;
  options: string;
  summary: string | null;
  started_at: string;
  ended_at: string | null;
}

type InputRow = Omit<RunInput, 'types'> & { run: string; types: string | null };

/** Which runs are wanted: by default all of them. */
export interface RunFilter {
  run?: string;
  status?: KnownRun['status'];
  finished?: boolean;
}

export class Runs {
  async insert(tx: Transaction, scope: number, run: NewRun): Promise<void> {
    await tx.run(
      `INSERT INTO runs (run, scope, named_account, identity, status, finished, item_format, options, started_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      run.run,
      scope,
      run.named_account,
      run.identity,
      run.status,
      run.finished ? 1 : 0,
      run.item_format,
      JSON.stringify(run.options),
      run.started_at,
    );
    for (const [index, { path, location, kind, digest, rejects_file, types }] of run.inputs.entries()) {
      await tx.run(
        `INSERT INTO inputs (run, input, path, location, kind, digest, rejects_file, types)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        run.run,
        index,
        path,
        location,
        kind,
        digest,
        rejects_file,
        types && JSON.stringify(types),
      );
    }
  }

  async reopen(tx: Transaction, run: string): Promise<void> {
    await tx.run("UPDATE runs SET status = 'running', finished = 0, ended_at = NULL WHERE run = ?", run);
  }

  /** It continues, with these options; some inputs with another rejects file than before. */
  async retry(tx: Transaction, run: string, options: unknown, newRejects: readonly number[]): Promise<void> {
    await this.reopen(tx, run);
    await tx.run('UPDATE runs SET options = ? WHERE run = ?', JSON.stringify(options), run);
    for (const input of newRejects) {
      await tx.run('UPDATE inputs SET rejects_file = NULL WHERE run = ? AND input = ?', run, input);
    }
  }

  async end(
    tx: Transaction,
    run: string,
    end: {
      status: KnownRun['status'];
      finished: boolean;
      endedBy: string | null;
      summary: Summary | null;
      at: string;
    },
  ): Promise<void> {
    await tx.run(
      // A token that was refused once stays so: whichever continued then must be able to continue again.
      `UPDATE runs SET status = ?, finished = ?, summary = COALESCE(?, summary), ended_at = ?,
           ended_by = CASE ended_by WHEN 'unauthorised' THEN ended_by ELSE ? END WHERE run = ?`,
      end.status,
      end.finished ? 1 : 0,
      end.summary === null ? null : JSON.stringify(withoutCells(end.summary)),
      end.at,
      end.endedBy,
      run,
    );
  }

  /** What it stands at, while it continues. */
  async setSummary(tx: Transaction, run: string, summary: Summary): Promise<void> {
    await tx.run('UPDATE runs SET summary = ? WHERE run = ?', JSON.stringify(withoutCells(summary)), run);
  }

  /** Runs of this account and kind that never came to an end. For the holder of their lock: they cannot be running. */
  async markCrashedRuns(tx: Transaction, scope: number, kind: string, except: string): Promise<void> {
    await tx.run(
      `UPDATE runs SET status = 'crashed' WHERE status = 'running' AND scope = ? AND run <> ?
           AND run IN (SELECT run FROM inputs WHERE kind = ?)`,
      scope,
      except,
      kind,
    );
  }

  async setRejectsFile(tx: Transaction, run: string, input: number, file: string): Promise<void> {
    await tx.run('UPDATE inputs SET rejects_file = ? WHERE run = ? AND input = ?', file, run, input);
  }

  async delete(tx: Transaction, run: string): Promise<void> {
    await tx.run('DELETE FROM runs WHERE run = ?', run);
  }

  /** Newest first. One that begins or is forgotten between the two looks is not among them: it would have no inputs. */
  async all(on: Reader, { run, status, finished }: RunFilter = {}): Promise<StoredRun[]> {
    const wanted = { run, status, finished: finished === undefined ? undefined : Number(finished) };
    const given = Object.entries(wanted).filter(
      (entry): entry is [string, string | number] => entry[1] !== undefined,
    );
    const where =
      given.length === 0 ? '' : ` WHERE ${given.map(([column]) => `${column} = ?`).join(' AND ')}`;
    const values = given.map(([, value]) => value);
    // Of those that began in one moment, the one with the higher number is newer.
    const rows = await on.all<RunRow>(
      `SELECT runs.*, scopes.* FROM runs JOIN scopes USING (scope)${where} ORDER BY started_at DESC, began DESC`,
      ...values,
    );
    const inputs = new Map<string, InputRow[]>();
    const sql = `SELECT inputs.* FROM inputs WHERE run IN (SELECT run FROM runs${where}) ORDER BY run, input`;
    for (const input of await on.all<InputRow>(sql, ...values)) {
      const known = inputs.get(input.run);
      if (known) known.push(input);
      else inputs.set(input.run, [input]);
    }
    return rows.flatMap((row) => {
      const own = inputs.get(row.run);
      return own ? runOf(row, own) : [];
    });
  }
}

function runOf(row: RunRow, inputs: readonly InputRow[]): StoredRun {
  return {
    run: row.run,
    scope: { account: row.account, region: row.region, base_url: row.base_url } satisfies Scope,
    kinds: kindsOf(inputs),
    paths: inputs.map((input) => input.path),
    status: row.status,
    started_at: row.started_at,
    ended_at: row.ended_at,
    summary: row.summary === null ? null : (JSON.parse(row.summary) as Summary),
    named_account: row.named_account,
    identity: row.identity,
    finished: row.finished === 1,
    ended_by: row.ended_by,
    // Version 0.1.0 recorded none: it had the first.
    item_format: row.item_format ?? 1,
    options: JSON.parse(row.options),
    inputs: inputs.map(({ path, location, kind, digest, rejects_file, types }) => ({
      path,
      location,
      kind,
      digest,
      rejects_file,
      types: types === null ? null : (JSON.parse(types) as CellType[]),
    })),
  };
}
