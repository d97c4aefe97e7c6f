/** The table `runs`, with everything that a resume needs. */

import { type CellType, type Kind, kindsOf, type Summary } from '../model.js';
import type { Reader, Transaction } from './database.js';
import { STORED, storedJson, storedOrNull } from './stored-json.js';
import type { KnownRun, Scope } from './types.js';

/** An input of a run. */
export interface RunInput {
  /** The path as messages show it. */
  path: string;
  /**
   * Absolute path of the bytes: the file, or the private copy of stdin, of a download, or of an archive
   * member.
   */
  location: string;
  kind: Kind;
  /** SHA-256 of the raw bytes, hexadecimal. */
  digest: string;
  /** Path of its rejects file, as it is reported; null if there is none. */
  rejects_file: string | null;
  /** Types of its columns by position, as the plan of the run decided them. */
  types: CellType[];
}

export interface StoredRun extends KnownRun {
  /** Configured name of the account, or null. */
  named_account: string | null;
  /** Hash by which an import finds an unfinished run of the same content (`identityOf` in `run/run.ts`). */
  identity: string;
  finished: boolean;
  /** Code of the error that ended its last session, or null. Once it is `unauthorised`, it stays so. */
  ended_by: string | null;
  /** Version of the rules by which its rows became items. */
  item_format: number;
  /** Where it began (`State.machine`). */
  machine: string;
  /** The runs whose place it took, and those whose place these took. */
  replaces: readonly string[];
  /** The options of the import, without private values (`run/private.ts`). */
  options: unknown;
  inputs: RunInput[];
}

/** A run as it is recorded when it begins. */
export type NewRun = Omit<StoredRun, 'kinds' | 'paths' | 'summary' | 'ended_at' | 'ended_by'>;

/** Removes reasons and warnings, because they quote cells, which the state must not hold (contract §4). */
const withoutCells = (summary: Summary): Summary => ({
  ...summary,
  rejected: summary.rejected.map(({ file, line }) => ({ file, line, reason: '' })),
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
  item_format: number;
  options: string;
  summary: string | null;
  started_at: string;
  ended_at: string | null;
  machine: string;
  replaces: string;
  inputs: string;
}

/** Conditions that runs must meet. Default: none. */
export interface RunFilter {
  run?: string;
  status?: KnownRun['status'];
  finished?: boolean;
}

export class Runs {
  async insert(tx: Transaction, scope: number, run: NewRun): Promise<void> {
    await tx.run(
      `INSERT INTO runs (run, scope, named_account, identity, status, finished, item_format, kinds, inputs, options,
           started_at, machine, replaces) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      run.run,
      scope,
      run.named_account,
      run.identity,
      run.status,
      run.finished ? 1 : 0,
      run.item_format,
      kindsOf(run.inputs).join(' '),
      JSON.stringify(run.inputs),
      JSON.stringify(run.options),
      run.started_at,
      run.machine,
      JSON.stringify(run.replaces),
    );
  }

  async reopen(tx: Transaction, run: string): Promise<void> {
    await tx.run("UPDATE runs SET status = 'running', finished = 0, ended_at = NULL WHERE run = ?", run);
  }

  /** Reopens a run with these options. @param newRejects indexes of inputs that get a new rejects file */
  async retry(tx: Transaction, run: string, options: unknown, newRejects: readonly number[]): Promise<void> {
    await this.reopen(tx, run);
    await tx.run('UPDATE runs SET options = ? WHERE run = ?', JSON.stringify(options), run);
    for (const input of newRejects) await this.setRejectsFile(tx, run, input, null);
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
      // `unauthorised` stays: after the token was replaced once, it may have to be replaced again
      // (`run/earlier.ts`). The summary of a crashed run is that of the session before.
      `UPDATE runs SET status = ?, finished = ?, ended_at = ?,
           summary = COALESCE(?, CASE status WHEN 'crashed' THEN NULL ELSE summary END),
           ended_by = CASE ended_by WHEN 'unauthorised' THEN ended_by ELSE ? END WHERE run = ?`,
      end.status,
      end.finished ? 1 : 0,
      end.at,
      end.summary === null ? null : JSON.stringify(withoutCells(end.summary)),
      end.endedBy,
      run,
    );
  }

  /**
   * Marks runs of this account and kind that are recorded as running as crashed. Only for the process with
   * the lock, since then none of them is running.
   */
  async markCrashedRuns(tx: Transaction, scope: number, kind: string): Promise<void> {
    await tx.run(
      `UPDATE runs SET status = 'crashed' WHERE status = 'running' AND scope = ?
           AND kinds LIKE '%' || ? || '%'`,
      scope,
      kind,
    );
  }

  async setRejectsFile(tx: Transaction, run: string, input: number, file: string | null): Promise<void> {
    const row = await tx.get<{ inputs: string }>('SELECT inputs FROM runs WHERE run = ?', run);
    if (!row) return;
    const inputs = storedJson<RunInput[]>(row.inputs, STORED.inputs, run);
    inputs[input]!.rejects_file = file;
    await tx.run('UPDATE runs SET inputs = ? WHERE run = ?', JSON.stringify(inputs), run);
  }

  async delete(tx: Transaction, run: string): Promise<void> {
    await tx.run('DELETE FROM runs WHERE run = ?', run);
  }

  /** Runs, newest first. */
  async all(on: Reader, { run, status, finished }: RunFilter = {}): Promise<StoredRun[]> {
    const wanted = { run, status, finished: finished === undefined ? undefined : Number(finished) };
    const given = Object.entries(wanted).filter(
      (entry): entry is [string, string | number] => entry[1] !== undefined,
    );
    const where =
      given.length === 0 ? '' : ` WHERE ${given.map(([column]) => `${column} = ?`).join(' AND ')}`;
    // Of runs with the same start time, the one with the higher `began` is newer.
    const rows = await on.all<RunRow>(
      `SELECT runs.*, account, region, base_url FROM runs JOIN scopes USING (scope)${where}
       ORDER BY started_at DESC, began DESC`,
      ...given.map(([, value]) => value),
    );
    return rows.map(runOf);
  }
}

function runOf(row: RunRow): StoredRun {
  const inputs = storedJson<RunInput[]>(row.inputs, STORED.inputs, row.run);
  return {
    run: row.run,
    scope: { account: row.account, region: row.region, base_url: row.base_url } satisfies Scope,
    kinds: kindsOf(inputs),
    paths: inputs.map((input) => input.path),
    status: row.status,
    started_at: row.started_at,
    ended_at: row.ended_at,
    summary: storedOrNull<Summary>(row.summary, STORED.summary, row.run),
    named_account: row.named_account,
    identity: row.identity,
    finished: row.finished === 1,
    ended_by: row.ended_by,
    item_format: row.item_format,
    machine: row.machine,
    replaces: storedJson<string[]>(row.replaces, STORED.replaces, row.run),
    options: storedJson(row.options, STORED.options, row.run),
    inputs,
  };
}
