/** What the end of a job means for its request and for what is remembered of its rows. */
import type { Job } from '../service/contract.js';
import { isFinal, isShort } from '../service/names.js';
import type { Jobs } from './jobs.js';
import type { Requests } from './requests.js';
import type { Sends } from './sends.js';

export class JobEnds {
  constructor(
    private readonly jobs: Jobs,
    private readonly sends: Sends,
    private readonly requests: Requests,
  ) {}

  /** A job as it was seen at a time (ISO 8601), ended or not. */
  saw(scope: number, job: Job, at: string): void {
    // Until then it had not ended. Nobody knows how much later it did, so the age of what it completed counts from here.
    const unfinishedAt = this.jobs.seenAt(scope, job.job_id);
    const seen = this.jobs.saw(scope, job, at);
    if (!isFinal(job.status)) return;
    const request = seen?.request ?? null;
    const whole = seen && job.status === 'completed' && !isShort(job, seen.rows);
    if (!seen) this.sends.end(scope, job.job_id, request, { how: 'gone' });
    else
      this.sends.end(
        scope,
        job.job_id,
        request,
        whole ? { how: 'completed', at: unfinishedAt } : { how: 'dead' },
      );
    if (request) this.requests.settle(request);
  }

  /** A job that the service no longer knows: what became of its rows stays unknown. */
  lost(scope: number, job_id: string, at: string): void {
    const request = this.jobs.lost(scope, job_id, at);
    this.sends.end(scope, job_id, request, { how: 'gone' });
    if (request) this.requests.settle(request);
  }
}
