/** Imports that shared a state, and what a service received from them: no row lost, and nothing acknowledged sent again. */
import { expect } from 'vitest';
import { rangesIn, type Summary } from '../../src/engine/model.js';
import { covers, eventsIn, submittedIn } from '../loss/support.js';
import type { Arrival } from '../support/fault-server.js';

/** An import with `--ndjson` that has ended, and how many requests had arrived by then. */
export interface Session {
  ended: { code: number | null; stdout: string; stderr: string };
  until: number;
}

export const idsOf = (arrivals: readonly Arrival[]): string[] => arrivals.flatMap(({ ids }) => ids);

/** A file of companies of its own, by number. */
export const companiesOf = (file: number, rows: number): string =>
  `company_id,name\n${Array.from({ length: rows }, (_, row) => `m${file}-${row},Company ${row}\n`).join('')}`;

/**
 * Holds what the sessions said against what arrived.
 * @param of the file that was imported, by number, and its rows
 * @param from arrivals before it belong to another file
 */
export function checkSessions(
  sessions: readonly Session[],
  arrivals: readonly Arrival[],
  { file, rows, from = 0 }: { file: number; rows: number; from?: number },
): void {
  const mine = arrivals.slice(from);
  expect(new Set(idsOf(mine.filter(({ accepted }) => accepted))).size, 'rows that arrived').toBe(rows);
  const named = sessions.flatMap(({ ended }) => summaryOf(ended)?.maybe_sent_twice.flatMap(rangesIn) ?? []);
  for (const [id, times] of timesOf(mine)) {
    if (times === 1) continue;
    const line = Number(id.split('-').at(-1)) + 2;
    const isNamed = named.some((range) => covers(range, line));
    expect(isNamed, `line ${line} arrived ${times} times`).toBe(true);
  }
  for (const { ended, until } of sessions) {
    const later = new Set(idsOf(arrivals.slice(until)));
    for (const { first_line, last_line } of submittedIn(ended)) {
      for (let line = first_line; line <= last_line; line++) {
        const isSentAgain = later.has(`m${file}-${line - 2}`);
        expect(isSentAgain, `line ${line} was reported as submitted, and sent again`).toBe(false);
      }
    }
  }
}

function timesOf(arrivals: readonly Arrival[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const id of idsOf(arrivals)) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}

const summaryOf = (ended: Session['ended']): Summary | undefined => {
  const last = eventsIn(ended).find(({ type }) => type === 'summary');
  return last && (last.summary ?? (last as unknown as Summary));
};
