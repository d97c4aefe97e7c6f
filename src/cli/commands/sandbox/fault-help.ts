/** The help text about faults. */
import { type FaultKind, type FaultOption, TARGETS } from '../../../sandbox/fault-spec.js';
import { twoColumns } from '../../output/two-columns.js';

const FAULTS: Readonly<Record<FaultKind, string>> = {
  status: 'an HTTP status from 200 to 599, such as 503; only a 2xx carries the request out',
  html: '200 with an HTML page, as a captive portal answers',
  redirect: 'a redirect to location=<url>, with status=<status> (307)',
  'reset-before': 'resets the connection before the request is read',
  'reset-body': 'resets it half-way through the body of the request',
  'reset-after': 'carries the request out, then resets the connection',
  'cut-header': 'carries it out, then closes in the middle of the header of the reply',
  'cut-body': 'carries it out, then closes in the middle of the body of the reply',
  hang: 'never answers, or after for=<seconds> closes the connection',
  'hang-body': 'carries it out, then stops in the middle of the body of the reply',
  drip: 'carries it out, then sends the reply in small pieces, over for=<seconds> (2)',
  'no-job-id': 'carries it out; the reply has no job_id',
  'broken-json': 'carries it out; the reply is not JSON',
  close: 'answers, then closes the connection, although it is a keep-alive one',
  'job-404': 'answers a poll of a job with 404',
  'fail-job': 'the job fails',
  'stuck-job': 'the job stays in status=<status> (processing)',
  'unknown-status': 'the job shows status=<status> (reindexing) on its way',
  'short-job': 'the job leaves out rows=<n> (1)',
};

const OPTIONS: Readonly<Record<FaultOption, string>> = {
  on: `which requests: ${TARGETS.join(', ')}; by default submit, for job-404 job`,
  accepted: 'carries the request out all the same',
  html: 'the body is an HTML page',
  chunked: 'the reply has no Content-Length, and its last chunk is missing',
  'retry-after': 'the header Retry-After: seconds, or any text',
  'retry-after-date': 'the same as a date, this many seconds from now',
  location: 'the header Location',
  status: 'see redirect, stuck-job, and unknown-status',
  for: 'seconds; see hang and drip',
  rows: 'see short-job',
};

/** Follows the options of `profiles sandbox --help`. */
export const FAULT_HELP = `A fault is <what>:<when>[,<option>…], such as 503:first=3,retry-after=2.

What:
${twoColumns(Object.entries(FAULTS).map(([name, text]) => [name === 'status' ? '<status>' : name, text]))}

When (requests of that kind are counted; for faults of jobs, accepted jobs):
${twoColumns([
  ['nth=2', 'the second one'],
  ['every=5', 'every fifth one'],
  ['first=3', 'the first three'],
  ['p=0.1', 'one in ten, at random; see --seed'],
])}

Options:
${twoColumns(Object.entries(OPTIONS))}`;
