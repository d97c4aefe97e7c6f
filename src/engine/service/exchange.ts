/** One request over an undici dispatcher becomes one answer. */
import type { Dispatcher } from 'undici';
import { formatDuration } from '../duration.js';
import { formatSize } from '../size.js';
import type { Answer, Reply } from './answer.js';
import type { Connection, Connections } from './connection.js';
import { connectFailure, lostReason } from './failure.js';
import { isHtml, parseJson } from './reply-text.js';

/** What is to be done about a complete reply that may not be this request's. */
export type Belonging =
  | { use: true; warning: string | null; close: boolean }
  /** It is the answer of another request, and so is what comes next on this connection. */
  | { use: false; reason: string };

export interface Limits {
  /** `host:port`, for messages. */
  host: string;
  /** Of the request, for messages. */
  url: string;
  /** Until the last byte of the reply, connecting included. */
  timeoutMs: number;
  maxBytes: number;
  signal: AbortSignal | undefined;
  connections: Connections;
  /** Called right before the first byte is written. What it throws keeps the request from being written. */
  ready?: (() => void) | undefined;
  /** Called once a reply of success is complete and nothing reads the body any more; not where that is never known. */
  written?: (() => void) | undefined;
  /** `fresh`: it is the first reply on its connection. */
  inspect?: ((reply: Reply, fresh: boolean) => Belonging) | undefined;
}

/** Where one turn of the event loop read as much, more has come already, bytes. */
const FULL_READ = 16 << 10;

/**
 * One request, one answer: the first thing that happens of a whole reply, a failure, the deadline, the signal.
 * It speaks to undici's dispatcher rather than `request()`, because only the dispatcher tells the moment at
 * which a request begins to be written. Before it, nothing can have arrived; after it, nobody knows.
 * @throws the signal's reason, and what `ready` throws
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { host, url, timeoutMs, maxBytes, signal, connections, ready, written, inspect }: Limits,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let connection: Connection | undefined;
    let head: { status: number; header: (name: string) => string | null } | undefined;
    let settled = false;
    let bytes = 0;
    const chunks: Buffer[] = [];

    const settle = (end: () => void): void => {
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      end();
    };
    const answered = (answer: Answer): void => settle(() => resolve(answer));
    /** Ends the connection too: a reply that is still coming would be taken for the next request's. */
    const giveUp = (answer: Answer): void => {
      answered(answer);
      controller?.abort(new Error('given up'));
    };
    const onAbort = (): void => {
      settle(() => reject(signal?.reason));
      controller?.abort(new Error('aborted'));
    };
    /**
     * A process that was stopped, or a busy one, finds its deadline passed before it has read what has come in the
     * meantime. So the sockets are read once more, and again while that brings much: a drip gets no more time, and a
     * flood, such as interim replies without end, no more than a reply may have.
     */
    const onDeadline = (seen = Number.NEGATIVE_INFINITY, before = connection?.arrived ?? 0): void => {
      if (settled) return;
      const arrived = connection?.arrived ?? 0;
      if (!controller || arrived - seen < FULL_READ || arrived - before > maxBytes) onOverdue();
      else setImmediate(onDeadline, arrived, before);
    };
    const onOverdue = (): void => {
      const limit = `within ${formatDuration(timeoutMs)}`;
      const problem = { code: 'no_answer_in_time', timeoutMs } as const;
      if (controller) giveUp({ type: 'lost', reason: `${host} gave no complete reply ${limit}`, problem });
      else giveUp({ type: 'unsent', reason: `no connection to ${host} ${limit}`, tls: false, problem });
    };
    const timer = setTimeout(() => onDeadline(), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });

    dispatcher.dispatch(options, {
      // Called right before the first byte is written: the last moment to keep a settled request from being sent.
      onRequestStart(started) {
        controller = started;
        if (settled) return started.abort(new Error('given up'));
        try {
          ready?.();
        } catch (error) {
          settle(() => reject(error));
          return started.abort(new Error('not ready'));
        }
        // One through SOCKS is out of sight, and the next to be written to would be taken for it.
        if (!options.reset) {
          connections.expect((carrier) => {
            connection = carrier;
          });
        }
      },
      onResponseStart(_, status, headers) {
        const header = (name: string): string | null => {
          const value = headers[name];
          return (Array.isArray(value) ? value[0] : value) ?? null;
        };
        head = { status, header };
      },
      onResponseData(_, chunk) {
        bytes += chunk.length;
        if (bytes <= maxBytes) return void chunks.push(chunk);
        const reason = `${host} sent a reply of more than ${formatSize(maxBytes)}`;
        giveUp({ type: 'lost', reason, oversize: true });
      },
      onResponseEnd() {
        if (!head) return;
        connection?.completed();
        const answer = reply(head, chunks, url, host);
        if (connection && isSuccess(head.status)) connections.owe(connection, () => written?.());
        if (answer.type !== 'reply' || !inspect) return answered(answer);
        // Here and now, since the next request is written to this connection in the next turn.
        const found = inspect(answer, (connection?.replies ?? 1) === 1);
        if (!found.use || found.close) connection?.close();
        if (!found.use) return answered({ type: 'lost', reason: `${host} ${found.reason}` });
        answered(found.warning === null ? answer : { ...answer, warning: found.warning });
      },
      onResponseError(_, error) {
        if (controller) answered({ type: 'lost', reason: lostReason(error, host, head !== undefined) });
        else answered({ type: 'unsent', ...connectFailure(error, host) });
      },
    });
  });
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

function reply(
  { status, header }: { status: number; header: (name: string) => string | null },
  chunks: readonly Buffer[],
  url: string,
  host: string,
): Answer {
  const body = new TextDecoder().decode(Buffer.concat(chunks));
  const contentType = header('content-type');
  const success = isSuccess(status) && status !== 204;
  const bounded = header('content-length') !== null || header('transfer-encoding') !== null;
  // Without a length a reply ends where the connection does, cut short or not: only whole JSON proves it whole.
  if (success && !bounded && parseJson(body) === undefined && !isHtml({ contentType, body })) {
    return { type: 'lost', reason: `${host} closed the connection in the middle of its reply` };
  }
  return {
    type: 'reply',
    status,
    retryAfter: header('retry-after'),
    date: header('date'),
    requestId: header('x-request-id'),
    contentType,
    body,
    url,
    location: header('location'),
  };
}
