/** What the tests send and get. */
export const TOKEN = 'tok_4f9d2c81aa';
export const BODY = Buffer.from('{"companies":[{"company_id":"1"}]}');
export const JOB = { job_id: 'j-1', status: 'queued', total_rows: 1 };
