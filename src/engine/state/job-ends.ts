/** Applies the end of a job to its request and to the fingerprints of its rows. */
import type { Job } from '../service/contract.js';
import { isFinal, isShort } from '../service/names.js';
import type { Transaction } from './database.js';
import type { Jobs } from './jobs.js';
import type { Requests } from './requests.js';
import type { Sends } from './sends.js';

export class JobEnds {
  constructor(
    private readonly jobs: Jobs,
    private readonly sends: Sends,
    private readonly requests: Requests,
  ) {}

  /** Records a job as it was seen at a time (ISO 8601), ended or not. A job that this state does not have is in no send. */
  async saw(tx: Transaction, scope: number, job: Job, at: string): Promise<void> {
    const seen = await this.jobs.saw(tx, scope, job, at);
    if (!seen || !isFinal(job.status)) return;
    const { request, rows, seen_at } = seen;
    // The job completed at some time after it was last seen. The earliest possible time counts, so that
    // fingerprints never seem newer than they are.
    const end =
      job.status === 'completed' && !isShort(job, rows)
        ? ({ how: 'completed', at: seen_at } as const)
        : ({ how: 'dead' } as const);
    await this.sends.end(tx, scope, job.job_id, request, end);
    if (request) await this.requests.settle(tx, request);
  }

  /** Records that the service no longer has a job: the outcome of its rows stays unknown. */
  async lost(tx: Transaction, scope: number, job_id: string, at: string): Promise<void> {
    const request = await this.jobs.lost(tx, scope, job_id, at);
    await this.sends.end(tx, scope, job_id, request, { how: 'gone' });
    if (request) await this.requests.settle(tx, request);
  }
}
