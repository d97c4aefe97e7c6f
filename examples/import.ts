/**
 * Imports files, with its own progress.
 *
 *   SERVICE_URL=https://… SERVICE_TOKEN=… node import.js companies.csv users.csv
 */
import { type ImportEvent, runImport } from 'profiles-cli';

const { SERVICE_URL = '', SERVICE_TOKEN = '', STATE_DIR = '.profiles-state' } = process.env;

// The first Ctrl-C lets the request in flight finish. The run can then be continued: the same call with
// `resume: true` sends nothing that was acknowledged.
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

const run = runImport({
  files: process.argv.slice(2),
  service: { baseUrl: SERVICE_URL, token: SERVICE_TOKEN },
  stateDir: STATE_DIR,
  resume: true,
  signal: stop.signal,
});

for await (const event of run) {
  const line = say(event);
  if (line) console.log(line);
}

const { summary, exit, failure } = await run.result();
console.log(`${summary.status}: ${summary.rows.completed} of ${summary.rows.read} rows`);
if (failure instanceof Error) console.error(failure.message);
process.exitCode = exit;

function say(event: ImportEvent): string | undefined {
  switch (event.type) {
    case 'plan':
      return `${event.plan.requests} requests, ${event.plan.bytes} bytes`;
    case 'rejected':
      return `${event.file}:${event.line}: ${event.reason}`;
    case 'submitted':
      return `request ${event.request} (${event.rows} rows) is job ${event.job_id}`;
    case 'job':
      return `job ${event.job.job_id} is ${event.job.status}`;
    case 'retry':
      return `trying again in ${event.delay_ms} ms: ${event.reason}`;
    default:
      return undefined;
  }
}
