/** Submits companies without the product's own client. */
import type { Sandbox } from '../../src/sandbox/index.js';

/** Submits `n` companies in one bulk request, and returns the id of the job. */
export async function submitCompanies(sandbox: Sandbox, n = 3): Promise<string> {
  const companies = Array.from({ length: n }, (_, i) => ({ company_id: `c${i}` }));
  const reply = await fetch(`${sandbox.url}/v1/companies/bulk_identify`, {
    method: 'POST',
    headers: { authorization: `Token ${sandbox.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ companies }),
  });
  return ((await reply.json()) as { job_id: string }).job_id;
}
