/** Sends one request over an undici dispatcher, and returns its answer. */
import type { Dispatcher } from 'undici';
import { formatDuration } from '../duration.js';
import { formatSize } from '../size.js';
import type { Answer, Reply } from './answer.js';
import type { Connection, Connections } from './connection.js';
import { type Content, decoded, isCoded } from './decode.js';
import { connectFailure, lostReason } from './failure.js';
import { isHtml, parseJson } from './reply-text.js';

/** Whether a complete reply belongs to this request. `close`: close the connection in any case. */
export type Belonging =
  | { use: true; warning: string | null; close: boolean }
  /** It belongs to another request. The connection is closed, because its next replies would, too. */
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
  /** Takes the API key out of what the other side says. */
  redact: (text: string) => string;
  signal: AbortSignal | undefined;
  connections: Connections;
  /** Called right before the first byte is written. If it throws, nothing is sent. */
  ready?: (() => void) | undefined;
  /**
   * Called when a success reply is complete and nothing reads the body anymore; not called if that is
   * unknown.
   */
  written?: (() => void) | undefined;
  /** Decides whether a reply belongs to the request. `fresh`: it is the first reply on its connection. */
  inspect?: ((reply: Reply, fresh: boolean) => Belonging) | undefined;
}

/** If one turn of the event loop has read this many bytes, more have probably arrived already. */
const FULL_READ = 16 << 10;

/**
 * Sends one request. The answer is what happens first: a complete reply, a failure, or the deadline. Uses the
 * dispatcher of undici and not `request()`, because only the dispatcher reports the moment at which a request
 * begins to be written. Before that, nothing can have arrived at the service; after it, something may have.
 * @throws the signal's reason when it is aborted; the error of `ready`
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { host, url, timeoutMs, maxBytes, redact, signal, connections, ready, written, inspect }: Limits,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let connection: Connection | undefined;
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
    const answered = (answer: Answer): void => settle(() => resolve(answer));
    /**
     * Also ends the connection: otherwise, the rest of a late reply would be read as the reply to the next
     * request.
     */
    const giveUp = (answer: Answer): void => {
      answered(answer);
      controller?.abort(new Error('given up'));
    };
    const onAbort = (): void => {
      settle(() => reject(signal?.reason));
      controller?.abort(new Error('aborted'));
    };
    /**
     * If the process was stopped or busy, the deadline may pass before it has read what has arrived in the
     * meantime. So it reads the sockets once more, and again as long as that brings many bytes, up to as many as a
     * reply may have: interim replies can come without end.
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
      // Called right before the first byte is written: the last moment to stop a request that was aborted.
      onRequestStart(started) {
        controller = started;
        if (settled) return started.abort(new Error('given up'));
        try {
          ready?.();
        } catch (error) {
          settle(() => reject(error));
          return started.abort(new Error('not ready'));
        }
        connections.expect((carrier) => {
          connection = carrier;
        });
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
        if (bytes <= maxBytes) return void chunks.push(chunk);
        giveUp(oversize(host, maxBytes));
      },
      onResponseEnd() {
        if (!head) return;
        connection?.completed();
        if (connection && isSuccess(head.status)) connections.owe(connection, () => written?.());
        const fresh = (connection?.replies ?? 1) === 1;
        const conclude = (of: Head, content: Content) => {
          const answer = reply(of, content, { url, host, redact });
          if (answer.type !== 'reply' || !inspect) return answered(answer);
          const found = inspect(answer, fresh);
          if (!found.use || found.close) connection?.close();
          if (!found.use) return answered({ type: 'lost', reason: `${host} ${found.reason}` });
          answered(found.warning === null ? answer : { ...answer, warning: found.warning });
        };
        const { codings } = head;
        const bytes = Buffer.concat(chunks);
        // In this turn of the event loop: in the next one, undici may write the next request to this connection.
        if (!isCoded(codings)) return conclude(head, { bytes });
        connection?.close();
        decoded(bytes, codings, maxBytes)
          .then(
            (content) => settled || conclude(head!, content),
            () => answered(oversize(host, maxBytes)),
          )
          .catch((error) => settle(() => reject(error)));
      },
      onResponseError(_, error) {
        if (controller) {
          answered({ type: 'lost', reason: redact(lostReason(error, host, head !== undefined)) });
        } else {
          const failure = connectFailure(error, host);
          answered({ type: 'unsent', ...failure, reason: redact(failure.reason) });
        }
      },
    });
  });
}

const oversize = (host: string, maxBytes: number): Answer => ({
  type: 'lost',
  reason: `${host} sent a reply of more than ${formatSize(maxBytes)}`,
  oversize: true,
});

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

interface Head {
  status: number;
  /** Returns the first header of this name. */
  header: (name: string) => string | null;
  /** All `content-encoding` headers, separated by commas. */
  codings: string;
}

function reply(
  { status, header }: Head,
  content: Content,
  { url, host, redact }: Pick<Limits, 'url' | 'host' | 'redact'>,
): Answer {
  const body = redact(new TextDecoder().decode(content.bytes));
  const contentType = header('content-type');
  const success = isSuccess(status) && status !== 204;
  const bounded = header('content-length') !== null || header('transfer-encoding') !== null;
  // Without a length, a reply ends with its connection, even if it was cut off. Only valid JSON shows that it
  // is complete.
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
    coding: content.coding && redact(content.coding),
    body,
    url,
    location: header('location'),
  };
}
