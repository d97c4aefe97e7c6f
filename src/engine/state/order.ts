/**
 * The order of data (contract §4 "A retry never overtakes"): sends, runs, and saved plans have numbers in one order, and
 * what a run found unchanged is kept while older data could overwrite it.
 */
import { type Kind, MAX_PLAN_AGE_MS } from '../model.js';
import type { Access } from './access.js';
import { insert, type Reader, type Transaction } from './database.js';
import { WHAT } from './history.js';
import { nextNumber, refuseMoved } from './meta.js';
import type { Made, Scope } from './types.js';

/** Ids in one row of the table `verified`. */
const TOGETHER = 100_000;

/** SQL: true if data of this scope and kind is older than a run, and may still be sent. */
const hasOlder = (scope: string, kind: string, began: string): string =>
  `(EXISTS (SELECT 1 FROM runs AS older WHERE older.scope = ${scope} AND older.kinds LIKE '%' || ${kind} || '%'
      AND older.finished = 0 AND older.began < ${began})
    OR EXISTS (SELECT 1 FROM plans WHERE plans.scope = ${scope} AND plans.number < ${began}
      AND NOT EXISTS (SELECT 1 FROM runs AS applied WHERE applied.run = plans.run AND applied.finished = 1)))`;

export class Order {
  constructor(private readonly access: Access) {}

  /**
   * Gives the saved plan of a run its number. When the run begins, its data is as old as the plan. A plan counts for 30
   * days.
   */
  numberPlan(run: string, scope: Scope): Promise<number> {
    const now = this.access.now();
    return this.access.writeIn(scope, async (tx, id) => {
      await refuseMoved(tx);
      const number = await nextNumber(tx);
      await tx.run('DELETE FROM plans WHERE made_at < ? OR run = ?', now - MAX_PLAN_AGE_MS, run);
      await insert(tx, 'plans', { run, scope: id, number, made_at: now });
      return number;
    });
  }

  /** Whether there is data older than that of a run that may still be sent: an unfinished run, or a saved plan. */
  mayBeOverwritten(run: string, scope: Scope, kind: Kind): Promise<boolean> {
    return this.access.readIn(scope, async (on, id) => {
      const sql = `SELECT 1 FROM runs WHERE run = ?1 AND ${hasOlder('?2', '?3', 'runs.began')}`;
      return (await on.get(sql, run, id, kind)) !== undefined;
    });
  }

  /** Records ids of rows that a run found unchanged: older data counts as sent before (`Sends.later`). */
  keepVerified(run: string, scope: Scope, kind: Kind, ids: BigUint64Array): Promise<void> {
    return this.access.writeIn(scope, async (tx, id) => {
      for (let at = 0; at < ids.length; at += TOGETHER) {
        const part = new Uint8Array(ids.slice(at, at + TOGETHER).buffer);
        await insert(tx, 'verified', { run, scope: id, kind, part: at / TOGETHER, ids: part });
      }
    });
  }
}

/**
 * Gives a new run its number `began`, the age of its data: newer than all earlier sends, and older than
 * later sends of other runs. The run of a plan that this state has numbered gets the number of the plan.
 * @param made when its data was read, if that was before the run began
 */
export async function numberRun(tx: Transaction, run: string, made: Made | null): Promise<void> {
  const number = await nextNumber(tx);
  const kept =
    made && (await tx.get<{ number: number }>('SELECT number FROM plans WHERE run = ?', made.plan));
  // A plan that was edited, or that another state made, may name the run of another plan.
  const ofPlan = kept?.number === made?.after ? kept?.number : undefined;
  await tx.run('UPDATE runs SET began = ? WHERE run = ?', ofPlan ?? number, run);
  if (made === null || ofPlan !== undefined) return;
  // Newer than runs that began before it was planned, and older than those that began since. What is later by its
  // number or by its time counts as later: a clock may be wrong, and an older copy of the state repeats numbers.
  await tx.run(
    `WITH others AS (
       SELECT began AS number, began > ?4 OR started_at > ?2 AS is_later FROM runs WHERE run <> ?1
       UNION ALL SELECT send, send > ?4 OR at > ?3 FROM history WHERE what = ${WHAT.identify})
     UPDATE runs SET began = (SELECT coalesce(max(number), 0) FROM others WHERE NOT is_later)
       WHERE run = ?1 AND EXISTS (SELECT 1 FROM others WHERE is_later)`,
    run,
    made.at,
    Date.parse(made.at),
    made.after ?? number,
  );
}

/** Ids that runs verified which began after this one, in the order of their beginning. */
export async function verifiedSince(
  on: Reader,
  run: string,
  scope: number,
  kind: Kind,
): Promise<{ send: number; run: string; ids: BigUint64Array }[]> {
  const rows = await on.all<{ send: number; run: string; ids: Uint8Array }>(
    `SELECT runs.began AS send, verified.run, ids FROM verified JOIN runs ON runs.run = verified.run
     WHERE verified.scope = ? AND kind = ? AND runs.began > (SELECT began FROM runs WHERE run = ?)
     ORDER BY runs.began, part`,
    scope,
    kind,
    run,
  );
  return rows.map((row) => ({ ...row, ids: new BigUint64Array(row.ids.slice().buffer) }));
}

/** Deletes what no older data needs anymore. */
export async function pruneVerified(tx: Transaction): Promise<void> {
  await tx.run(
    `DELETE FROM verified WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = verified.run
       AND ${hasOlder('verified.scope', 'verified.kind', 'runs.began')})`,
  );
}
