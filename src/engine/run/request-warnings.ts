/** Warnings about requests when a session ends: rows that failed again, and rows that were not sent. Pure. */

import { isClosed, placeOf, placeText, sum } from '../send/row-counts.js';
import { notReplaced, type RequestRecord, rangesOf } from '../state/requests.js';
import { RunRequests } from '../state/run-requests.js';
import { count } from '../util/numbers.js';
import { isFailed } from './summary.js';

/** The most requests that get a warning of their own. */
const MOST_GIVEN_UP = 10;

/** Warnings about requests that sent rows again without success, if the rows are not rejected. */
export function givenUpWarnings(records: readonly RequestRecord[], paths: readonly string[]): string[] {
  const requests = new RunRequests(records);
  const all = requests.ends.filter((r) => isFailed(r) && requests.chainOf(r).slice(1).some(isClosed));
  const more = all.length - MOST_GIVEN_UP;
  return [
    ...all.slice(0, MOST_GIVEN_UP).map((r) => {
      const why = r.reason ?? `job ${r.job_id} failed`;
      return `${placeText(placeOf(r, paths))}: ${count(r.rows + r.merged, 'row')} failed: ${why}`;
    }),
    ...(more > 0 ? [`and ${count(more, 'more request')} with rows that failed`] : []),
  ];
}

/**
 * Warnings about rows that were left out: one for each combination of inputs and runs that sent their ids
 * later.
 */
export function leftOutWarnings(records: readonly RequestRecord[], paths: readonly string[]): string[] {
  const groups = new Map<string, RequestRecord[]>();
  for (const r of notReplaced(records)) {
    if (r.left_out === 0 || !isClosed(r)) continue;
    const key = JSON.stringify([rangesOf(r).map(({ input }) => input), r.left_out_by]);
    groups.set(key, [...(groups.get(key) ?? []), r]);
  }
  return [...groups.values()].map((group) => {
    const [first] = group as [RequestRecord];
    const place = placeOf(first, paths);
    const merged =
      'first_line' in place
        ? {
            ...place,
            first_line: Math.min(...group.map((r) => r.first_line)),
            last_line: Math.max(...group.map((r) => r.last_line)),
          }
        : place;
    const all = sum(group, (r) => r.left_out);
    const again = sum(group, (r) => r.overtaken + r.doubtful);
    const what = [
      ...(all > again ? [`${count(all - again, 'row')} not sent`] : []),
      ...(again > 0 ? [`${count(again, 'row')} not sent again`] : []),
    ].join(', ');
    return `${placeText(merged)}: ${what}; sent later by ${first.left_out_by}`;
  });
}
