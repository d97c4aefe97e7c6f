/** The bad moments of a service and of the network before it, each as a few lines that do it. */
import { once } from 'node:events';
import type { Clock } from '../../src/engine/util/clock.js';
import { COMPLETED, type Exchange, type Fate, type Strike } from '../support/fault-server.js';

const ERROR = (message: string): string => JSON.stringify({ errors: [{ error_code: 'x', message }] });
const PAGE = '<html><head><title>Bad gateway</title></head><body>nginx</body></html>';

const reset = (exchange: Exchange): void => void exchange.socket.resetAndDestroy();

/** Accepts, then sends these bytes of a reply and hangs up. */
const cut =
  (bytes: (body: string) => string): Strike =>
  async (exchange) => {
    const body = JSON.stringify(await exchange.accept());
    exchange.raw(bytes(body));
    exchange.socket.end();
  };

/** An answer without carrying the request out. */
export const status =
  (code: number, headers: Record<string, string> = {}, body = ERROR(`answer ${code}`)): Strike =>
  async (exchange) => {
    await exchange.read();
    exchange.reply(code, body, headers);
  };

/** An answer that denies what was done. */
const acceptedBut =
  (code: number): Strike =>
  async (exchange) => {
    await exchange.accept();
    exchange.reply(code, ERROR('the answer got lost behind the proxy'));
  };

/** A complete 2xx that names no job. Only JSON confirms anything. */
const acceptedWith =
  (code: number, body: string, type = 'application/json'): Strike =>
  async (exchange) => {
    await exchange.accept();
    if (body.endsWith('}')) exchange.confirm();
    exchange.reply(code, body, { 'content-type': type });
  };

export const FAULTS = {
  'reset before the body': reset,
  'reset mid-body': async (exchange) => {
    await once(exchange.request, 'data');
    reset(exchange);
  },
  'reset after acceptance': async (exchange) => {
    await exchange.accept();
    reset(exchange);
  },
  'closed without a word': async (exchange) => {
    await exchange.accept();
    exchange.socket.end();
  },
  'reply cut in its header': cut(() => 'HTTP/1.1 202 Accepted\r\nContent-Ty'),
  'reply cut in its body': cut(
    (body) => `HTTP/1.1 202 Accepted\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
  ),
  'reply without its last chunk': cut(
    (body) =>
      `HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`,
  ),
  'refusal cut in its body': cut(() => 'HTTP/1.1 400 Bad Request\r\nContent-Length: 90\r\n\r\n{"errors":[{'),
  'no HTTP at all': cut(() => 'SSH-2.0-OpenSSH_9.7\r\n'),
  'hang before the reply': async (exchange) => void (await exchange.accept()),
  'hang inside the reply': async (exchange) => {
    await exchange.accept();
    exchange.raw('HTTP/1.1 202 Accepted\r\nContent-Length: 99\r\n\r\n{"job_id"');
  },
  'slow drip': async (exchange) => {
    const body = JSON.stringify(await exchange.accept());
    exchange.raw(`HTTP/1.1 202 Accepted\r\nContent-Length: ${body.length}\r\n\r\n`);
    let at = 0;
    const drip = setInterval(() => {
      if (exchange.socket.destroyed || at > 20) clearInterval(drip);
      else exchange.raw(body[at++]!);
    }, 30);
  },
  '202 without job id': acceptedWith(202, '{"status":"queued"}'),
  '202 with broken JSON': acceptedWith(202, '{"job_id":"job-'),
  '202 without a body': acceptedWith(202, ''),
  '200 HTML': acceptedWith(200, PAGE, 'text/html'),
  'connection closed after the reply': async (exchange) => {
    await exchange.acknowledge();
    exchange.socket.end();
  },
  '413 before the body was read': async (exchange) => {
    exchange.reply(413, ERROR('too large'), { connection: 'close' });
  },
  'accepted, then 408': acceptedBut(408),
  'accepted, then 500': acceptedBut(500),
  'accepted, then 504': acceptedBut(504),
  '502 HTML': status(502, { 'content-type': 'text/html' }, PAGE),
} satisfies Record<string, Strike>;

/** `Retry-After` as an HTTP date, by the clock that the program goes by. */
export const dated =
  (code: number, machine: { clock: Clock }, seconds: number): Strike =>
  (exchange) =>
    status(code, { 'retry-after': new Date(machine.clock.now() + seconds * 1_000).toUTCString() })(exchange);

/** A poll that says of the job whatever is given, now or after so many polls. */
export const fates = {
  stuck: (job) => ({ ...job, status: 'processing' }),
  failed: (job) => ({ ...job, status: 'failed' }),
  short: (job) => ({ ...job, status: 'completed', completed_rows: job.total_rows - 1 }),
  negative: (job) => ({ ...job, status: 'completed', completed_rows: -5 }),
  'too many': (job) => ({ ...job, status: 'completed', completed_rows: job.total_rows + 3 }),
  'half a row': (job) => ({ ...job, status: 'completed', completed_rows: 0.5 }),
  'errors in its record': (job, polls) => ({
    ...COMPLETED(job, polls),
    errors: [{ message: 'no' }],
  }),
  'unknown status': (job, polls) => (polls < 3 ? { ...job, status: 'reindexing' } : COMPLETED(job, polls)),
  'another id': (job, polls) => ({
    ...COMPLETED(job, polls),
    job_id: `https://api.test/v1/background_jobs/${job.job_id}`,
  }),
} satisfies Record<string, Fate>;
