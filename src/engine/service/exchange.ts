/** Sends one request over a connection, and returns its answer. */
import type { Dispatcher } from 'undici';
import { formatDuration } from '../util/duration.js';
import { formatSize } from '../util/size.js';
import type { Answer } from './answer.js';
import type { Connection } from './connection.js';
import { connectFailure, lostReason } from './failure.js';
import { type Content, decoded, isCoded, isHtml, isSuccess, parseJson, type Reply } from './reply.js';

/** Whether a complete reply belongs to this request. */
export type Belonging =
  /** `keep`: whether the connection can be used again. */
  | { use: true; warning: string | null; keep: boolean }
  /** It belongs to another request, as the next ones on this connection would. */
  | { use: false; reason: string };

export interface Limits {
  /** `host:port`, for messages. */
  host: string;
  /** URL of the request, for messages. */
  url: string;
  /** Milliseconds from connecting to the last byte of the reply. */
  timeoutMs: number;
  /** The most bytes of a reply. */
  maxBytes: number;
  /** The setting of the proxy for this host, for messages. */
  proxySetting: string | undefined;
  /** Takes the API key out of what the other side says. */
  redact: (text: string) => string;
  signal: AbortSignal | undefined;
  /** Called right before the first byte is written. If it throws, nothing is sent. */
  ready?: (() => void) | undefined;
  /** Decides whether a reply belongs to the request. `fresh`: it is the first reply on its connection. */
  inspect?: ((reply: Reply, fresh: boolean) => Belonging) | undefined;
}

/** `keep`: whether the connection can be used again. */
export interface Exchanged {
  answer: Answer;
  keep: boolean;
}

/**
 * Sends one request. The answer is what happens first: a complete reply, a failure, or the deadline. Uses the
 * dispatcher of undici and not `request()`, because only the dispatcher reports the moment at which a request
 * begins to be written. Before that, nothing can have arrived at the service; after it, something may have.
 * @throws the signal's reason when it is aborted; the error of `ready`
 */
export function exchange(
  connection: Connection,
  options: Dispatcher.DispatchOptions,
  { host, url, timeoutMs, maxBytes, proxySetting, redact, signal, ready, inspect }: Limits,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let head: Head | undefined;
    let settled = false;
    let bytes = 0;
    const chunks: Buffer[] = [];

    const settle = (end: () => void): void => {
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      end();
    };
    const answered = (answer: Answer, keep = false): void => settle(() => resolve({ answer, keep }));
    const failed = (error: unknown): void => settle(() => reject(error));
    const onAbort = (): void => failed(signal?.reason);
    const onDeadline = (): void => {
      if (settled) return;
      const limit = `within ${formatDuration(timeoutMs)}`;
      const problem = { code: 'no_answer_in_time', timeoutMs } as const;
      if (controller) answered({ type: 'lost', reason: `${host} gave no complete reply ${limit}`, problem });
      else answered({ type: 'unsent', reason: `no connection to ${host} ${limit}`, tls: false, problem });
    };
    // If the process was stopped or busy, the deadline may pass before it has read what has arrived in the meantime.
    const timer = setTimeout(() => setImmediate(() => setImmediate(onDeadline)), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });

    const conclude = (of: Head, content: Content): void => {
      const answer = replyOf(of, content, { url, host, redact });
      const isReply = answer.type === 'reply';
      if (!isReply || !inspect) return void answered(answer, isReply);
      const found = inspect(answer, connection.replies === 1);
      if (!found.use) return void answered({ type: 'lost', reason: `${host} ${found.reason}` });
      answered(found.warning === null ? answer : { ...answer, warning: found.warning }, found.keep);
    };

    connection.dispatcher.dispatch(options, {
      // Called right before the first byte is written: the last moment to stop a request that was aborted.
      onRequestStart(started) {
        controller = started;
        if (settled) return started.abort(new Error('given up'));
        try {
          ready?.();
        } catch (error) {
          failed(error);
          return started.abort(new Error('not ready'));
        }
        connection.begins();
      },
      onResponseStart(_, status, headers) {
        const header = (name: string): string | null => {
          const value = headers[name];
          const first = Array.isArray(value) ? value[0] : value;
          return first === undefined ? null : redact(first);
        };
        head = { status, header, codings: String(headers['content-encoding'] ?? '') };
      },
      onResponseData(_, chunk) {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else answered(oversize(host, maxBytes));
      },
      onResponseEnd() {
        if (!head || settled) return;
        connection.completed();
        const whole = Buffer.concat(chunks);
        if (!isCoded(head.codings)) return conclude(head, { bytes: whole });
        const of = head;
        decoded(whole, head.codings, maxBytes)
          .then(
            (content) => settled || conclude(of, content),
            () => answered(oversize(host, maxBytes)),
          )
          .catch(failed);
      },
      onResponseError(_, error) {
        if (settled) return;
        if (controller)
          return answered({ type: 'lost', reason: redact(lostReason(error, host, head !== undefined)) });
        const failure = connectFailure(error, host, proxySetting);
        answered({ type: 'unsent', ...failure, reason: redact(failure.reason) });
      },
    });
  });
}

const oversize = (host: string, maxBytes: number): Answer => ({
  type: 'lost',
  reason: `${host} sent a reply of more than ${formatSize(maxBytes)}`,
  oversize: true,
});

interface Head {
  status: number;
  /** Returns the first header of this name. */
  header: (name: string) => string | null;
  /** All `content-encoding` headers, separated by commas. */
  codings: string;
}

function replyOf(
  { status, header }: Head,
  content: Content,
  { url, host, redact }: Pick<Limits, 'url' | 'host' | 'redact'>,
): Answer {
  const body = redact(new TextDecoder().decode(content.bytes));
  const contentType = header('content-type');
  const bounded = header('content-length') !== null || header('transfer-encoding') !== null;
  // Without a length, a reply ends with its connection, even if it was cut off. Only valid JSON shows that it
  // is complete.
  const isChecked = isSuccess({ status }) && status !== 204 && !bounded;
  if (isChecked && parseJson(body) === undefined && !isHtml({ contentType, body })) {
    return { type: 'lost', reason: `${host} closed the connection in the middle of its reply` };
  }
  return {
    type: 'reply',
    status,
    retryAfter: header('retry-after'),
    date: header('date'),
    requestId: header('x-request-id'),
    contentType,
    coding: content.coding && redact(content.coding),
    body,
    url,
    location: header('location'),
  };
}
