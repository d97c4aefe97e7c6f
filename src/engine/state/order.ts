/** The order of data (contract §4 "A retry never overtakes"): sends, runs, and saved plans have numbers in one order. */
import type { Transaction } from './database.js';
import { WHAT } from './history.js';
import { nextNumber } from './meta.js';
import { SEND } from './send-table.js';

/** When a plan was made. */
export interface Made {
  /** The run that its file names. */
  plan: string;
  /** By the clock of its machine, ISO 8601. */
  at: string;
  /**
   * The number that this state gave to it, as its file says; null if it was made with another state. If this state has
   * that number for it (`numberPlan`), the number alone counts.
   */
  after: number | null;
}

/** SQL: true if data of this scope and kind is older than a run, and may still be sent. */
export const hasOlder = (scope: string, kind: string, began: string): string =>
  `(EXISTS (SELECT 1 FROM runs AS older WHERE older.scope = ${scope} AND older.kinds LIKE '%' || ${kind} || '%'
      AND older.finished = 0 AND older.began < ${began})
    OR EXISTS (SELECT 1 FROM plans WHERE plans.scope = ${scope} AND plans.number < ${began}
      AND NOT EXISTS (SELECT 1 FROM runs AS applied WHERE applied.run = plans.run AND applied.finished = 1)))`;

/**
 * Gives a new run its number `began`, the age of its data: newer than all earlier sends, and older than later sends of
 * other runs. The run of a plan that this state has numbered gets the number of
 * the plan.
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

/** Deletes ids that runs verified and that no older data needs anymore. */
export async function pruneVerified(tx: Transaction): Promise<void> {
  await tx.run(
    `DELETE FROM sends WHERE state = ${SEND.verified} AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = sends.run
       AND ${hasOlder('sends.scope', 'sends.kind', 'runs.began')})`,
  );
}
