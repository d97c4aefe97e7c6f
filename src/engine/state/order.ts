/** The order of data (contract §4 "A retry never overtakes"): sends, runs, and saved plans have numbers in one order. */
import { nextNumber } from './access.js';
import { type Sql, sql, type Transaction } from './database.js';
import { WHAT } from './history.js';
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

/**
 * SQL: true if data of this scope and kind is older than that of `runs`, and may still be sent. A plan of a recorded run
 * names a run that is older than the plan, and has not applied it.
 */
export const hasOlder = (scope: Sql, kind: Sql): Sql =>
  sql`(EXISTS (SELECT 1 FROM runs AS older WHERE older.scope = ${scope} AND older.kinds LIKE '%' || ${kind} || '%'
      AND older.finished = 0 AND older.began < runs.began)
    OR EXISTS (SELECT 1 FROM plans WHERE plans.scope = ${scope} AND plans.number < runs.began
      AND NOT EXISTS (SELECT 1 FROM runs AS applied
        WHERE applied.run = plans.run AND applied.finished = 1 AND applied.began >= plans.number)))`;

/**
 * Gives a new run its number `began`, the age of its data: newer than all earlier sends, and older than later sends of
 * other runs. The run of a plan that this state has numbered gets the number of
 * the plan.
 * @param made when its data was read, if that was before the run began
 */
export async function numberRun(tx: Transaction, run: string, made: Made | null): Promise<void> {
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

/** Deletes ids that runs verified and that no older data needs anymore. */
export async function pruneVerified(tx: Transaction): Promise<void> {
  await tx.run(
    sql`DELETE FROM sends WHERE state = ${SEND.verified} AND NOT EXISTS (SELECT 1 FROM runs
      WHERE runs.run = sends.run AND ${hasOlder(sql`sends.scope`, sql`sends.kind`)})`,
  );
}
