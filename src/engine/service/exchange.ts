/** One request over an undici dispatcher becomes one answer. */
import type { Dispatcher } from 'undici';
import { formatDuration } from '../duration.js';
import { formatSize } from '../size.js';
import type { Answer } from './answer.js';
import { connectFailure, lostReason } from './failure.js';
import { isHtml, parseJson } from './reply-text.js';

export interface Limits {
  /** `host:port`, for messages. */
  host: string;
  /** Of the request, for messages. */
  url: string;
  /** Until the last byte of the reply, connecting included. */
  timeoutMs: number;
  maxBytes: number;
  signal: AbortSignal | undefined;
}

/**
 * One request, one answer: the first thing that happens of a whole reply, a failure, the deadline, the signal.
 * It speaks to undici's dispatcher rather than `request()`, because only the dispatcher tells the moment at
 * which a request begins to be written. Before it, nothing can have arrived; after it, nobody knows.
 * @throws the signal's reason
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { host, url, timeoutMs, maxBytes, signal }: Limits,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
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
    const onDeadline = (): void => {
      const limit = `within ${formatDuration(timeoutMs)} (--timeout)`;
      if (controller) giveUp({ type: 'lost', reason: `${host} gave no complete reply ${limit}` });
      else giveUp({ type: 'unsent', reason: `no connection to ${host} ${limit}`, tls: false });
    };
    const timer = setTimeout(onDeadline, timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });

    dispatcher.dispatch(options, {
      // Called right before the first byte is written: the last moment to keep a settled request from being sent.
      onRequestStart(started) {
        controller = started;
        if (settled) started.abort(new Error('given up'));
      },
      // Interim replies (1xx) come here too; the last one counts.
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
        if (head) answered(reply(head, chunks, url, host));
      },
      onResponseError(_, error) {
        if (controller) answered({ type: 'lost', reason: lostReason(error, host, head !== undefined) });
        else answered({ type: 'unsent', ...connectFailure(error, host) });
      },
    });
  });
}

function reply(
  { status, header }: { status: number; header: (name: string) => string | null },
  chunks: readonly Buffer[],
  url: string,
  host: string,
): Answer {
  const body = new TextDecoder().decode(Buffer.concat(chunks));
  const contentType = header('content-type');
  const success = status >= 200 && status < 300 && status !== 204;
  const bounded = header('content-length') !== null || header('transfer-encoding') !== null;
  // Without a length a reply ends where the connection does, cut short or not: only whole JSON proves it whole.
  if (success && !bounded && parseJson(body) === undefined && !isHtml({ contentType, body })) {
    return { type: 'lost', reason: `${host} closed the connection in the middle of its reply` };
  }
  return {
    type: 'reply',
    status,
    retryAfter: header('retry-after'),
    requestId: header('x-request-id'),
    contentType,
    body,
    url,
    location: header('location'),
  };
}
