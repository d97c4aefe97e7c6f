/** The rows that the service refused, of all sessions of a run. */
import type { Rejection } from '../model.js';
import type { RequestRecord } from '../state/requests.js';
import { RunRequests } from '../state/run-requests.js';
import type { State } from '../state/state.js';

/** @param most how many are enough */
export async function refusedRows(
  run: string,
  records: readonly RequestRecord[],
  paths: readonly string[],
  state: Pick<State, 'history'>,
  most: number,
): Promise<Rejection[]> {
  const found: Rejection[] = [];
  const requests = new RunRequests(records);
  for (const record of requests.ends) {
    if (record.state !== 'rejected') continue;
    // If a part was never sent itself, the rows are recorded for the request that it is a part of.
    for (const { seq } of requests.chainOf(record)) {
      const rows = await state.history.ofRequest(run, seq);
      if (!rows) continue;
      for (const { input, lines } of rows.sent) {
        for (const line of lines) found.push({ file: paths[input]!, line, reason: record.reason ?? '' });
      }
      break;
    }
    if (found.length >= most) break;
  }
  return found.slice(0, most);
}
