/** The table `requests`. Reports and resumes rely only on it. */
import type { RequestRecord } from '../model/requests.js';
import type { Job } from '../service/contract.js';
import {
  type Reader,
  STORED,
  sql,
  storedJson,
  storedOrNull,
  type Transaction,
  upsertInto,
} from './database.js';

/** What queries ask of a request; the rest is JSON. */
type Asked = 'seq' | 'parent' | 'input' | 'rows' | 'unchanged' | 'left_out' | 'state' | 'job_id';
/** The JSON of a request. */
export type RequestRest = Omit<RequestRecord, Asked | 'job'>;
type RequestRow = Pick<RequestRecord, Asked> & { run: string; record: string; job: string | null };

/** Inserts or updates a request. */
export async function putRequest(tx: Transaction, run: string, record: RequestRecord): Promise<void> {
  const { job: _, seq, parent, input, rows, unchanged, left_out, state, job_id, ...rest } = record;
  const changing = { rows, unchanged, left_out, state, job_id, record: JSON.stringify(rest) };
  const row = { run, seq, parent, input, ...changing };
  await tx.run(upsertInto('requests', 'run, seq', row, Object.keys(changing)));
}

/** All requests of a run, in the order of their numbers, with their jobs as last seen. */
export async function requestsOf(on: Reader, run: string): Promise<RequestRecord[]> {
  const rows = await on.all<RequestRow>(
    sql`SELECT requests.*, jobs.record AS job FROM requests JOIN runs USING (run)
      LEFT JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
      WHERE requests.run = ${run} ORDER BY seq`,
  );
  return rows.map(({ run: _, record, job, ...row }) => ({
    ...storedJson<RequestRest>(record, STORED.request, run),
    ...row,
    job: storedOrNull<Job>(job, STORED.job, row.job_id!),
  }));
}
