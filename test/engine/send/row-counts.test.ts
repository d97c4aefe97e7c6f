/** The counts that progress shows, held against those that are made of all requests. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placeOf } from '../../../src/engine/model/requests.js';
import { RunRequests, Totals } from '../../../src/engine/model/run-requests.js';
import { recordedRange } from '../support/rows.js';

const STATES = ['intent', 'acknowledged', 'settled', 'rejected', 'withdrawn', 'unsent'] as const;

const jobs = fc.record({
  status: fc.constantFrom('queued', 'completed', 'failed'),
  completed_rows: fc.option(fc.nat(20), { nil: undefined }),
});

const changes = fc.array(
  fc.record({
    what: fc.constantFrom('add', 'change', 'change', 'divide'),
    at: fc.nat(),
    state: fc.constantFrom(...STATES),
    job: fc.option(jobs),
    rows: fc.nat(10),
  }),
  { maxLength: 30 },
);

test('whatever becomes of requests, in whichever order, both counts are those of all of them', () => {
  fc.assert(
    fc.property(changes, fc.nat(10), (all, earlier) => {
      const requests = new RunRequests();
      let totals: Totals | null = null;
      const add = (parent: number | null, rows: number): void => {
        requests.add(recordedRange(0, rows, { seq: requests.next, rows, parent }));
      };
      for (const [index, { what, at, state, job, rows }] of all.entries()) {
        // Those of an earlier session are there from the beginning.
        if (index === earlier) totals = new Totals(requests);
        const open = requests.ends;
        const chosen = open[at % open.length];
        if (what === 'add' || !chosen) add(null, rows);
        else if (what === 'divide') {
          add(chosen.seq, rows);
          add(chosen.seq, rows);
          totals?.count(chosen);
        } else {
          Object.assign(chosen, { state, job: job && { job_id: 'job', ...job } });
          totals?.count(chosen);
        }
        if (!totals) continue;
        expect(totals.submitted).toBe(requests.totals.submitted);
        expect(totals.completed).toBe(requests.totals.completed);
      }
    }),
  );
});

test('the place of a request leaves out ranges of which no row is sent, unless that is all of it', () => {
  const paths = ['a.csv', 'b.csv', 'c.csv'];
  const place = (...first_lines: number[]) => {
    const [first, ...more] = first_lines.map((first_line, input) => ({
      ...recordedRange(0, 5, { input, first_line, last_line: first_line && first_line + 4 }),
      rows: first_line && 5,
    }));
    return placeOf({ ...first!, more }, paths);
  };
  const [a, b, c] = paths.map((file) => ({ file, first_line: 2, last_line: 6 }));
  expect(place(2, 2, 2)).toEqual({ ranges: [a, b, c] });
  expect(place(2, 0, 2)).toEqual({ ranges: [a, c] });
  expect(place(0, 2, 2)).toEqual({ ranges: [b, c] });
  expect(place(0, 0, 2)).toEqual(c);
  expect(place(0, 0, 0)).toEqual({ file: 'a.csv', first_line: 0, last_line: 0 });
});

test('rows of a request that the service refused for good do not count as completed', () => {
  const job = { job_id: 'job', status: 'completed' };
  const requests = new RunRequests([recordedRange(0, 10, { state: 'rejected', job })]);
  expect(requests.totals.completed).toBe(0);
});
