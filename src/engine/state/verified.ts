/**
 * What runs have verified (contract §4 "A retry never overtakes"): ids of rows that a newer run found unchanged, so
 * that older data does not overwrite them. Kept only while there is older data that could: an unfinished run, or a
 * saved plan.
 */

import type { Kind } from '../model.js';
import { MAX_PLAN_AGE_MS } from '../model.js';
import type { Reader, Transaction } from './database.js';

/** Ids in one row of the table. */
const TOGETHER = 100_000;

/** SQL: true if data of this scope and kind is older than a run, and may still be sent. */
const hasOlder = (scope: string, kind: string, began: string): string =>
  `(EXISTS (SELECT 1 FROM runs AS older WHERE older.scope = ${scope} AND older.kinds LIKE '%' || ${kind} || '%'
      AND older.finished = 0 AND older.began < ${began})
    OR EXISTS (SELECT 1 FROM plans WHERE plans.scope = ${scope} AND plans.number < ${began}
      AND NOT EXISTS (SELECT 1 FROM runs AS applied WHERE applied.run = plans.run AND applied.finished = 1)))`;

/** The plans that were saved, with their numbers in the order of runs and sends. A plan counts for 30 days. */
export class Plans {
  async add(tx: Transaction, run: string, scope: number, number: number, now: number): Promise<void> {
    await tx.run('DELETE FROM plans WHERE made_at < ?', now - MAX_PLAN_AGE_MS);
    await tx.run(
      `INSERT INTO plans (run, scope, number, made_at) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (run) DO UPDATE SET number = excluded.number, made_at = excluded.made_at`,
      run,
      scope,
      number,
      now,
    );
  }

  /** The number of a plan; null if this state has not given it one. */
  async numberOf(on: Reader, run: string): Promise<number | null> {
    const row = await on.get<{ number: number }>('SELECT number FROM plans WHERE run = ?', run);
    return row?.number ?? null;
  }
}

export class Verified {
  /** Whether ids that a run verifies must be kept. */
  async isNeeded(on: Reader, run: string, scope: number, kind: Kind): Promise<boolean> {
    const row = await on.get(
      `SELECT 1 FROM runs WHERE run = ?1 AND ${hasOlder('?2', '?3', 'runs.began')}`,
      run,
      scope,
      kind,
    );
    return row !== undefined;
  }

  async add(tx: Transaction, run: string, scope: number, kind: Kind, ids: BigUint64Array): Promise<void> {
    for (let at = 0; at < ids.length; at += TOGETHER) {
      const some = ids.slice(at, at + TOGETHER);
      await tx.run(
        'INSERT INTO verified (run, scope, kind, part, ids) VALUES (?, ?, ?, ?, ?)',
        run,
        scope,
        kind,
        at / TOGETHER,
        new Uint8Array(some.buffer),
      );
    }
  }

  /** Ids that runs verified which began after this one, in the order of their beginning. */
  async since(
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
  async prune(tx: Transaction): Promise<void> {
    await tx.run(
      `DELETE FROM verified WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = verified.run
         AND ${hasOlder('verified.scope', 'verified.kind', 'runs.began')})`,
    );
  }
}
