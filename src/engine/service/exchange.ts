/** Sends one request over a connection, and returns its answer. */
import { formatDuration } from '../util/duration.js';
import { formatSize } from '../util/size.js';
import type { BaseUrl } from './address.js';
import type { Answer } from './answer.js';
import type { Connection } from './connection.js';
import { connectFailure, lostReason } from './failure.js';
import { decoded, isHtml, isSuccess, parseJson, type Reply } from './reply.js';

/** Whether a complete reply belongs to this request. */
export type Belonging =
  /** `keep`: whether the connection can be used again. */
  | { use: true; warning: string | null; keep: boolean }
  /** It belongs to another request, as the next ones on this connection would. */
  | { use: false; reason: string };

export interface Request {
  method: 'GET' | 'POST';
  base: BaseUrl;
  /** Relative to the base URL. Begins with a slash, and is encoded. */
  path: string;
  /** JSON in UTF-8, which is sent unchanged. */
  body?: Uint8Array;
  /** The most bytes of a reply. */
  maxReplyBytes: number;
  /** Called right before the first byte is written. If it throws, nothing is sent. */
  ready?: (() => void) | undefined;
  /** Called when it was accepted and nothing reads the body anymore; not called if that is unknown. */
  written?: (() => void) | undefined;
  /** Decides whether a reply belongs to the request. `fresh`: it is the first reply on its connection. */
  inspect?: (reply: Reply, fresh: boolean) => Belonging;
}

export const urlOf = ({ base, path }: Request): string => base.origin + base.prefix + path;

/** What all requests of a client have in common. */
export interface Terms {
  headers: Record<string, string>;
  /** Milliseconds from connecting to the last byte of the reply. */
  timeoutMs: number;
  /** The setting of the proxy for an origin, for messages. */
  proxySetting(origin: string): string | undefined;
  /** Takes the API key out of what the other side says. */
  redact(text: string): string;
}

/** `keep`: whether the connection can be used again. */
export interface Exchanged {
  answer: Answer;
  keep: boolean;
}

interface Head {
  status: number;
  /** Returns the first header of this name. */
  header: (name: string) => string | null;
  /** All `content-encoding` headers, separated by commas. */
  codings: string;
}

/**
 * Sends one request. The answer is what happens first: a complete reply, a failure, or the deadline. Uses the
 * dispatcher of undici and not `request()`, because only the dispatcher reports the moment at which a request
 * begins to be written. Before that, nothing can have arrived at the service; after it, something may have.
 * @throws the signal's reason when it is aborted; the error of `ready`
 */
export function exchange(
  connection: Connection,
  request: Request,
  { headers, timeoutMs, proxySetting, redact }: Terms,
  signal: AbortSignal | undefined,
): Promise<Exchanged> {
  const { method, base, path, body, maxReplyBytes, ready, inspect } = request;
  const { host, origin } = base;
  return new Promise((resolve, reject) => {
    /** Set when the request begins to be written. */
    let abort: ((reason: Error) => void) | undefined;
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
    const lost = (what: string, more: Partial<Answer & { type: 'lost' }> = {}): void =>
      answered({ type: 'lost', reason: `${host} ${what}`, ...more });
    const tooLong = (): void =>
      lost(`sent a reply of more than ${formatSize(maxReplyBytes)}`, { oversize: true });
    const failed = (error: unknown): void => settle(() => reject(error));
    const onAbort = (): void => failed(signal?.reason);
    const onDeadline = (): void => {
      if (settled) return;
      const limit = `within ${formatDuration(timeoutMs)}`;
      const problem = { code: 'no_answer_in_time', timeoutMs } as const;
      if (abort) lost(`gave no complete reply ${limit}`, { problem });
      else answered({ type: 'unsent', reason: `no connection to ${host} ${limit}`, tls: false, problem });
    };
    // If the process was stopped or busy, the deadline may pass before it has read what has arrived in the meantime.
    const timer = setTimeout(() => setImmediate(() => setImmediate(onDeadline)), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });

    const conclude = async ({ status, header, codings }: Head): Promise<void> => {
      const content = await decoded(Buffer.concat(chunks), codings, maxReplyBytes);
      if (settled) return;
      if (!content) return tooLong();
      const text = redact(new TextDecoder().decode(content.bytes));
      const contentType = header('content-type');
      const bounded = header('content-length') !== null || header('transfer-encoding') !== null;
      // Without a length, a reply ends with its connection, even if it was cut off. Only valid JSON shows that it
      // is complete.
      const isChecked = isSuccess({ status }) && status !== 204 && !bounded;
      if (isChecked && parseJson(text) === undefined && !isHtml({ contentType, body: text }))
        return lost('closed the connection in the middle of its reply');
      const reply: Reply = {
        type: 'reply',
        status,
        retryAfter: header('retry-after'),
        date: header('date'),
        requestId: header('x-request-id'),
        contentType,
        coding: content.coding && redact(content.coding),
        body: text,
        url: urlOf(request),
        location: header('location'),
      };
      const found = inspect?.(reply, connection.replies === 1) ?? { use: true, warning: null, keep: true };
      if (!found.use) return lost(found.reason);
      answered(found.warning === null ? reply : { ...reply, warning: found.warning }, found.keep);
    };

    const options = {
      origin,
      path: base.prefix + path,
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      body: body ?? null,
      // Not the deadlines of undici, which are for each phase: a server that sends single bytes would meet all of
      // them.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    connection.dispatcher.dispatch(options, {
      // Called right before the first byte is written: the last moment to stop a request that was aborted.
      onRequestStart(started) {
        abort = (reason) => started.abort(reason);
        if (settled) return abort(new Error('given up'));
        try {
          ready?.();
        } catch (error) {
          failed(error);
          return abort(new Error('not ready'));
        }
        connection.begins();
      },
      onResponseStart(_, status, fields) {
        const header = (name: string): string | null => {
          const first = [fields[name] ?? []].flat()[0];
          return first === undefined ? null : redact(first);
        };
        head = { status, header, codings: String(fields['content-encoding'] ?? '') };
      },
      onResponseData(_, chunk) {
        bytes += chunk.length;
        if (bytes <= maxReplyBytes) chunks.push(chunk);
        else tooLong();
      },
      onResponseEnd() {
        if (!head || settled) return;
        connection.replies++;
        conclude(head).catch(failed);
      },
      onResponseError(_, error) {
        if (settled) return;
        if (abort) return answered({ type: 'lost', reason: redact(lostReason(error, host, !!head)) });
        const failure = connectFailure(error, host, proxySetting(origin));
        answered({ type: 'unsent', ...failure, reason: redact(failure.reason) });
      },
    });
  });
}
