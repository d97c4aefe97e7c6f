/** What the state has recorded of a run follows the tables of states, also after a kill. */

import type { RequestRecord } from '../../src/engine/model/requests.js';
import type { Summary } from '../../src/engine/model.js';
import type { Job } from '../../src/engine/service/contract.js';
import { REQUESTS, type RequestStatus, RUNS, requestStatus } from '../../src/engine/states.js';
import type { Machine } from './machine.js';
import type { Run } from './model.js';
import { addsUp, holds } from './properties.js';
import { mayBecome } from './reach.js';

const NEXT = Object.fromEntries(Object.entries(REQUESTS).map(([status, { next }]) => [status, next]));

interface Shown {
  status: string;
  requests: Omit<RequestRecord, 'job'>[];
  jobs: Job[];
  summary: Summary | null;
}

/** The statuses of a run and its requests at one time. */
export interface Recorded {
  run: string;
  requests: ReadonlyMap<number, RequestStatus>;
}

export async function statesHold(run: Run, machine: Machine): Promise<void> {
  const { stdout, stderr } = await machine.run(['runs', run.id, '--json']);
  const { status, requests, jobs, summary } = JSON.parse(stdout || stderr) as Shown;
  if (summary) {
    addsUp(summary);
    const done = summary.jobs.reduce((sum, { completed_rows }) => sum + (completed_rows ?? 0), 0);
    const { submitted, unchanged } = summary.rows;
    holds(
      done <= submitted + unchanged,
      'jobs and rows agree',
      () => `${run.id} is ${status}: ${JSON.stringify(summary)}`,
    );
  }
  const jobOf = new Map(jobs.map((job) => [job.job_id, job]));
  const parents = new Set(requests.map(({ parent }) => parent));
  const now: Recorded = {
    run: status,
    requests: new Map(
      requests.map((r) => [
        r.seq,
        requestStatus({ ...r, job: jobOf.get(r.job_id ?? '') ?? null }, parents.has(r.seq)),
      ]),
    ),
  };
  const { recorded } = run;
  run.recorded = now;
  if (!recorded) return;
  // A session begins and ends in between.
  const follows = mayBecome(RUNS, recorded.run, status);
  holds(follows, 'runs follow the table', () => `${run.id} was ${recorded.run}, and is ${status}`);
  for (const [seq, before] of recorded.requests) {
    const then = now.requests.get(seq);
    const isNext = then !== undefined && mayBecome(NEXT, before, then);
    holds(
      isNext,
      'requests follow the table',
      () => `request ${seq} of ${run.id} was ${before}, and is ${then}`,
    );
  }
}
