/** The table `runs`, with everything that a resume needs. */

import type { RequestRecord } from '../model/requests.js';
import {
  type CellType,
  type FileRows,
  type Kind,
  kindsOf,
  MAX_PLAN_AGE_MS,
  type RunStatus,
  type Summary,
} from '../model.js';
import { type Access, addScope, idOf, nextNumber, refuseMoved, type Scope } from './access.js';
import { insertInto, STORED, sql, storedJson, storedOrNull, type Transaction } from './database.js';
import type { Spools } from './folder.js';
import { WHAT } from './history.js';
import { putRequest } from './jobs.js';
import { rejectsPlaces } from './rejects.js';
import { pruneVerified, unlinkSends } from './send-table.js';

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
  /** Types of its columns by position, as the plan of the run decided them. */
  types: CellType[];
  /** As the plan counted them. */
  rows: FileRows;
}

/** A run that the state has a record of. */
export interface StoredRun {
  run: string;
  scope: Scope;
  kinds: Kind[];
  paths: string[];
  /**
   * `running` until the end of its session is recorded. A process that takes the lock marks runs that died as
   * `crashed`.
   */
  status: RunStatus | 'running' | 'crashed' | 'superseded';
  started_at: string;
  ended_at: string | null;
  /** The result document of its last session without texts that quote rows; null if no session has ended. */
  summary: Summary | null;
  /** Configured name of the account, or null. */
  named_account: string | null;
  /** Hash by which an import finds an unfinished run of the same content (`identityOf` in `run/record.ts`). */
  identity: string;
  /** Nothing is left to send. Jobs may be unfinished. */
  finished: boolean;
  /** Whether it has a request with an unfinished job. */
  hasOpenJobs: boolean;
  /** Code of the error that ended its last session, or null. Once it is `unauthorised`, it stays so. */
  ended_by: string | null;
  /** Version of the rules by which its rows became items. */
  item_format: number;
  /** Where it began (`State.machine`). */
  machine: string;
  /** The runs whose place it took, and those whose place these took. */
  replaces: readonly string[];
  /** The options of the import, without private values (`run/recorded.ts`). */
  options: unknown;
  /** `rejects_file`: the absolute path of its last rejects file; null if there is none. */
  inputs: (RunInput & { rejects_file: string | null })[];
}

/** A run as it is recorded when it begins. */
export type NewRun = Omit<
  StoredRun,
  'kinds' | 'paths' | 'summary' | 'ended_at' | 'ended_by' | 'hasOpenJobs' | 'inputs'
> & { inputs: RunInput[] };

/** Removes reasons and warnings, because they quote cells, which the state must not hold (contract §4). */
const withoutCells = (summary: Summary): Summary => ({
  ...summary,
  rejected: summary.rejected.map(({ file, line }) => ({ file, line, reason: '' })),
  causes: [],
  warnings: [],
});

/** What queries ask of a run; the rest is JSON. */
type Asked = 'run' | 'status' | 'ended_by' | 'started_at' | 'ended_at';
/** The JSON of a run. */
export type RunRest = Omit<NewRun, Asked | 'scope' | 'finished'>;
type RunRow = Pick<StoredRun, Asked> &
  Scope & { finished: number; open: number; record: string; summary: string | null };

/** The requests of a saved plan, and when it was made, which is the age of its data; null: now. */
export interface PlannedRequests {
  requests: readonly RequestRecord[];
  made: Made | null;
}

interface Made {
  /** The run that its file names. */
  plan: string;
  /** By the clock of its machine, ISO 8601. */
  at: string;
  /** The number that this state gave to it, as its file says; then that alone counts. Null: made with another state. */
  after: number | null;
}

export class Runs {
  constructor(
    private readonly access: Access,
    private readonly spools: Spools,
  ) {}

  /** Runs, newest first, or the one with this id. */
  async all({ run = null }: { run?: string | null } = {}): Promise<StoredRun[]> {
    // Of runs with the same start time, the one with the higher `began` is newer.
    const query = sql`SELECT run, status, ended_by, started_at, ended_at, finished, record, summary, account, region, base_url,
        (SELECT count(*) FROM requests WHERE requests.run = runs.run AND requests.state = 'acknowledged') AS open
      FROM runs JOIN scopes USING (scope) WHERE ${run === null ? sql`1 = 1` : sql`run = ${run}`}
      ORDER BY started_at DESC, began DESC`;
    const places = await rejectsPlaces(this.access);
    return (await this.access.all<RunRow>(query)).map((row) => runOf(row, places));
  }

  /** Records a new run. */
  start(run: NewRun, plan?: PlannedRequests): Promise<void> {
    return this.access.write(async (tx) => {
      await refuseMoved(tx);
      const { run: id, scope, status, finished, started_at, ...rest } = run;
      await addScope(tx, scope);
      const kinds = kindsOf(run.inputs).join(' ');
      const asked = { run: id, scope: idOf(scope), kinds, status, finished: Number(finished), started_at };
      await tx.run(insertInto('runs', { ...asked, record: JSON.stringify(rest) }));
      await numberRun(tx, run.run, plan?.made ?? null);
      for (const request of plan?.requests ?? []) await putRequest(tx, run.run, request);
    });
  }

  /**
   * Gives the saved plan of a run its number. When the run begins, its data is as old as the plan. A plan counts for 30
   * days.
   */
  numberPlan(run: string, scope: Scope): Promise<number> {
    const now = this.access.now();
    return this.access.write(async (tx) => {
      await refuseMoved(tx);
      await addScope(tx, scope);
      const number = await nextNumber(tx);
      await tx.run(sql`DELETE FROM plans WHERE made_at < ${now - MAX_PLAN_AGE_MS} OR run = ${run}`);
      await tx.run(insertInto('plans', { run, scope: idOf(scope), number, made_at: now }));
      return number;
    });
  }

  /**
   * Marks a run as running again.
   * @param retry reopens it with other options. `requests`: added to the run, to send rows of earlier ones again;
   * `stays`: a finished run stays so, because nothing is sent
   */
  reopen(
    run: string,
    retry?: { options: unknown; requests: readonly RequestRecord[]; stays?: boolean },
  ): Promise<void> {
    this.access.session++;
    return this.access.write(async (tx) => {
      await refuseMoved(tx);
      const finished = retry?.stays ? sql`finished` : sql`0`;
      await tx.run(
        sql`UPDATE runs SET status = 'running', finished = ${finished}, ended_at = NULL WHERE run = ${run}`,
      );
      if (!retry) return;
      await edit(tx, run, () => ({ options: retry.options }));
      for (const request of retry.requests) await putRequest(tx, run, request);
    });
  }

  /** Records that a session of a run ended. @param end `endedBy`: code of the error that ended it, or null */
  end(
    run: string,
    end: { status: StoredRun['status']; finished: boolean; endedBy: string | null; summary: Summary | null },
  ): Promise<void> {
    const summary = end.summary && JSON.stringify(withoutCells(end.summary));
    return this.access.write(async (tx) => {
      await tx.run(
        // `unauthorised` stays: after the token was replaced once, it may have to be replaced again
        // (`run/door.ts`). The summary of a crashed run is that of the session before.
        sql`UPDATE runs SET status = ${end.status}, finished = ${Number(end.finished)}, ended_at = ${this.access.time()},
            summary = COALESCE(${summary}, CASE status WHEN 'crashed' THEN NULL ELSE summary END),
            ended_by = CASE ended_by WHEN 'unauthorised' THEN ended_by ELSE ${end.endedBy} END WHERE run = ${run}`,
      );
      if (end.finished) await pruneVerified(tx);
    });
  }

  /**
   * Marks runs of this account and kind that are recorded as running as crashed. Only for the process with
   * the lock, since then none of them is running.
   */
  async markCrashed(scope: Scope, kind: Kind): Promise<void> {
    const its = sql`scope = ${idOf(scope)} AND kinds LIKE '%' || ${kind} || '%'`;
    const crashed = sql`UPDATE runs SET status = 'crashed' WHERE status = 'running' AND ${its}`;
    await this.access.run(crashed);
  }

  /** Deletes a run, its requests, and its spooled input. Keeps its jobs, and the ids of unfinished ones. */
  async forget(run: string): Promise<void> {
    await this.access.write(async (tx) => {
      await refuseMoved(tx);
      await unlinkSends(tx, sql`run = ${run}`);
      await tx.run(sql`DELETE FROM rejects WHERE owner = ${run} OR run = ${run}`);
      await tx.run(sql`DELETE FROM runs WHERE run = ${run}`);
      await pruneVerified(tx);
    });
    this.spools.remove(run);
  }

  /**
   * Deletes everything about a scope: runs, jobs, fingerprints, and column types. Only for the process with
   * its locks.
   * @returns how many runs and jobs it deleted
   */
  async forgetScope(scope: Scope): Promise<{ runs: number; jobs: number }> {
    const its = sql`scope = ${idOf(scope)}`;
    const own = sql`SELECT run FROM runs WHERE ${its}`;
    const { runs, jobs } = await this.access.write(async (tx) => {
      await tx.run(sql`DELETE FROM rejects WHERE owner IN (${own}) OR run IN (${own})`);
      const runs = await tx.all<{ run: string }>(sql`DELETE FROM runs WHERE ${its} RETURNING run`);
      await tx.run(sql`DELETE FROM sends WHERE ${its}`);
      await tx.run(sql`UPDATE scopes SET companies_types = NULL, users_types = NULL WHERE ${its}`);
      return { runs, jobs: await tx.run(sql`DELETE FROM jobs WHERE ${its}`) };
    });
    for (const { run } of runs) this.spools.remove(run);
    return { runs: runs.length, jobs };
  }
}

function runOf(
  { account, region, base_url, open, finished, record, summary, ...row }: RunRow,
  places: Awaited<ReturnType<typeof rejectsPlaces>>,
): StoredRun {
  const rest = storedJson<RunRest>(record, STORED.run, row.run);
  const own = places.filter(({ owner }) => owner === row.run);
  return {
    ...row,
    ...rest,
    scope: { account, region, base_url },
    inputs: rest.inputs.map((input, at) => {
      return { ...input, rejects_file: own.findLast((of) => of.input === at)?.location ?? null };
    }),
    kinds: kindsOf(rest.inputs),
    paths: rest.inputs.map((input) => input.path),
    summary: storedOrNull<Summary>(summary, STORED.summary, row.run),
    finished: finished === 1,
    hasOpenJobs: open > 0,
  };
}

/** Changes the JSON of a run. */
async function edit(
  tx: Transaction,
  run: string,
  change: (record: RunRest) => Partial<RunRest>,
): Promise<void> {
  const row = await tx.get<{ record: string }>(sql`SELECT record FROM runs WHERE run = ${run}`);
  if (!row) return;
  const record = storedJson<RunRest>(row.record, STORED.run, run);
  const edited = JSON.stringify({ ...record, ...change(record) });
  await tx.run(sql`UPDATE runs SET record = ${edited} WHERE run = ${run}`);
}

/**
 * Gives a new run its number `began`, the age of its data (contract §4 "A retry never overtakes"): sends, runs, and saved
 * plans have numbers in one order. It is newer than all earlier sends, and older than later sends of other runs. The run
 * of a plan that this state has numbered gets the number of the plan.
 * @param made when its data was read, if that was before the run began
 */
async function numberRun(tx: Transaction, run: string, made: Made | null): Promise<void> {
  const number = await nextNumber(tx);
  const kept =
    made && (await tx.get<{ number: number }>(sql`SELECT number FROM plans WHERE run = ${made.plan}`));
  // A plan that was edited, or that another state made, may name the run of another plan.
  const ofPlan = kept?.number === made?.after ? kept?.number : undefined;
  await tx.run(sql`UPDATE runs SET began = ${ofPlan ?? number} WHERE run = ${run}`);
  if (made === null || ofPlan !== undefined) return;
  // Newer than runs that began before it was planned, and older than those that began since. What is later by its
  // number or by its time counts as later: a clock may be wrong, and an older copy of the state repeats numbers.
  const after = made.after ?? number;
  await tx.run(
    sql`WITH others AS (
        SELECT began AS number, began > ${after} OR started_at > ${made.at} AS is_later FROM runs WHERE run <> ${run}
        UNION ALL
        SELECT send, send > ${after} OR at > ${Date.parse(made.at)} FROM history WHERE what = ${WHAT.identify})
      UPDATE runs SET began = (SELECT coalesce(max(number), 0) FROM others WHERE NOT is_later)
        WHERE run = ${run} AND EXISTS (SELECT 1 FROM others WHERE is_later)`,
  );
}
