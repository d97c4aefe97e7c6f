/** Applies faults to the content of an answer. `deliver.ts` applies those that change how it is sent. */
import { type Answer, htmlPage, refuse } from './answer.js';
import type { Fault, FaultOptions } from './fault-spec.js';

/** Whether the request is carried out although a fault applies to it. */
export function carriesOut({ kind, options }: Fault): boolean {
  if (options.accepted) return true;
  if (kind === 'status') return options.status! < 300 && !options.html;
  return !['html', 'redirect', 'reset-before', 'reset-body', 'hang', 'job-404'].includes(kind);
}

/**
 * The answer with a fault. Faults that change an accepted answer (a 2xx status, `no-job-id`, `broken-json`)
 * do not change a refusal; the others replace any answer.
 * @param truth the answer after carrying the request out; undefined if it was not carried out
 * @param now milliseconds since 1970, for dates
 */
export function distort(fault: Fault, truth: Answer | undefined, now: number): Answer {
  const { kind, options } = fault;
  const headers = faultHeaders(options, now);
  const accepted = truth !== undefined && truth.status < 300;
  if (kind === 'status' && options.html) return htmlPage(options.status!, headers);
  if (kind === 'status' && options.status! >= 400)
    return refuse(options.status!, { message: 'simulated by the sandbox' }, headers);
  if (kind === 'status' && options.status! >= 300) return { status: options.status!, headers, body: '' };
  if (kind === 'status' && accepted)
    return { ...truth, status: options.status!, headers: { ...truth.headers, ...headers } };
  if (kind === 'html') return htmlPage(200, headers);
  if (kind === 'redirect') return { status: options.status ?? 307, headers, body: '' };
  if (kind === 'job-404') return refuse(404, { message: 'job not found' });
  if (kind === 'no-job-id' && accepted) return { ...truth, body: withoutJobId(truth.body) };
  if (kind === 'broken-json' && accepted) return { ...truth, body: truth.body.slice(0, -2) };
  // The other faults change how the answer is sent, not its content. For a hang, nothing is sent.
  return truth ?? { status: 500, headers, body: '' };
}

function faultHeaders(options: FaultOptions, now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.retryAfter !== undefined) headers['retry-after'] = options.retryAfter;
  if (options.retryAfterDate !== undefined)
    headers['retry-after'] = new Date(now + options.retryAfterDate * 1_000).toUTCString();
  if (options.location !== undefined) headers.location = options.location;
  return headers;
}

function withoutJobId(body: string): string {
  const { job_id: _, ...rest } = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify(rest);
}
