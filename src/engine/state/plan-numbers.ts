/** The numbers of saved plans, in the table `counters`, by the run that carries out the plan. */
import type { Reader, Transaction } from './database.js';

const nameOf = (run: string): string => `plan ${run}`;

/** Keeps the number of a plan, since its run may begin much later. */
export async function keepPlanNumber(tx: Transaction, run: string, number: number): Promise<void> {
  await tx.run(
    'INSERT INTO counters (name, last) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET last = excluded.last',
    nameOf(run),
    number,
  );
}

/** The number of a plan; null if this state has not given it one. */
export async function planNumber(on: Reader, run: string): Promise<number | null> {
  const row = await on.get<{ last: number }>('SELECT last FROM counters WHERE name = ?', nameOf(run));
  return row?.last ?? null;
}
