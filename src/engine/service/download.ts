/**
 * Downloads a file from an `https://` address, without the token of the account. Continues after a broken
 * connection if the server supports ranges and confirms with a strong ETag that the file is the same.
 */
import type { Dispatcher } from 'undici';
import { InputError, NetworkError, ProfilesError } from '../errors.js';
import { Channel } from '../util/channel.js';
import type { Clock } from '../util/clock.js';
import { formatDuration } from '../util/duration.js';
import { formatSize } from '../util/size.js';
import { isLoopback, type ProxyEnv, proxySettings, settingFor, type WebAddress } from './address.js';
import { connectFailure, lostReason } from './failure.js';
import { retried } from './retry.js';

const MAX_REDIRECTS = 10;
const CONNECT_TIMEOUT_MS = 10_000;
/** After five attempts in a row that brought nothing more, the download has failed. */
const RETRIES = { retries: 4, retryDelayMs: 1_000, maxRetryAfterMs: 0, busyTimeoutMs: 0 };

const SIGNED =
  'a signed link works for a limited time: get a new one. The token of your account is never sent to another server';
const HINTS: Readonly<Record<number, string>> = {
  401: SIGNED,
  403: SIGNED,
  404: 'check the address',
  410: SIGNED,
};

/**
 * Receives the bytes. Its methods are synchronous, so that a reply is never paused: undici fails an assertion
 * if a connection ends while its reply is paused. Errors of the sink end the download unchanged.
 */
export interface Sink {
  /** Appends bytes. */
  write(chunk: Uint8Array): void;
  /** Discards everything that was written. */
  restart(): void;
}

export interface DownloadOptions {
  /** The longest time without data, in milliseconds. */
  timeoutMs: number;
  proxy: ProxyEnv;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
}

/** False if the server sent neither a length nor chunks: a file that was cut off would look complete. */
type Downloaded = { sure: boolean };
type Address = Pick<WebAddress, 'url' | 'shown'>;
type Reply = Dispatcher.ResponseData;
type Progress = { bytes: number; total: number | null };

/**
 * Downloads a file to the sink, however slow the consumer is. Yields the progress after each chunk.
 * @throws InputError if the answer is not the file; NetworkError if all attempts fail; the signal's reason
 */
export async function* download(
  address: Address,
  sink: Sink,
  options: DownloadOptions,
): AsyncGenerator<Progress, Downloaded> {
  const progress = new Channel<Progress>();
  const left = new AbortController();
  const signal = AbortSignal.any([options.signal, left.signal]);
  const transfer = new Transfer(address, sink, { ...options, signal }, (now) => progress.push(now));
  const finished = transfer.run().finally(() => progress.close());
  // It may end while the consumer is busy with the progress so far.
  const ended = finished.catch(() => {});
  try {
    yield* progress;
    return await finished;
  } finally {
    left.abort();
    await ended;
  }
}

/** The failure of an attempt after which another one may succeed. */
class Broken extends NetworkError {}

class Transfer {
  /** Bytes in the sink. */
  #size = 0;
  #total: number | null = null;
  /** A strong ETag, which guarantees the same bytes; null if the download cannot be continued. */
  #etag: string | null = null;

  constructor(
    private readonly address: Address,
    private readonly sink: Sink,
    private readonly options: DownloadOptions,
    private readonly report: (progress: Progress) => void,
  ) {}

  async run(): Promise<Downloaded> {
    let most = 0;
    const attempt = async () => {
      try {
        return { do: 'end', sure: await this.#attempt() } as const;
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        const why = this.#size > most ? 'progress' : 'failure';
        most = Math.max(most, this.#size);
        return { do: 'retry', why, maybeSent: false, waitMs: null, reason: error.message, error } as const;
      }
    };
    const end = await retried(attempt, RETRIES, this.options);
    if (end.do === 'end') return end;
    const far = this.#size > 0 ? ` after ${formatSize(this.#size)}` : '';
    throw new NetworkError(`${this.address.shown}: the download failed${far}: ${end.reason}`, end.last);
  }

  /** Requests the file, or the rest of it, and follows redirects. @returns whether the file is surely complete */
  async #attempt(): Promise<boolean> {
    const { timeoutMs, proxy } = this.options;
    const connect = { timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs) };
    const how = { connect, headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
    const rest = this.#size > 0 && this.#etag;
    let { url } = this.address;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const { proxyAgent } = await import('./connection.js');
      // Loopback never goes through a proxy.
      const agent = proxyAgent(proxySettings(isLoopback(url.hostname) ? {} : proxy), how);
      let reply: Reply | undefined;
      try {
        reply = await agent.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method: 'GET',
          signal: this.options.signal,
          highWaterMark: 16 * 1024 ** 2, // never reached, so that a reply is never paused
          headers: {
            accept: '*/*',
            'accept-encoding': 'identity',
            'user-agent': 'profiles-cli',
            ...(rest && { range: `bytes=${this.#size}-`, 'if-range': rest }),
          },
        });
        const { statusCode: status } = reply;
        if (status === 200 || (status === 206 && this.#size > 0)) return await this.#receive(reply, url);
        const to = /^30[12378]$/.test(String(status)) ? header(reply, 'location') : null;
        if (to === null) throw this.#withoutFile(status, url);
        url = this.#redirected(to, url);
      } catch (error) {
        throw this.#failure(error, url, reply !== undefined);
      } finally {
        reply?.body.on('error', () => {});
        await agent.destroy();
      }
    }
    throw this.#refused(`it redirects more than ${MAX_REDIRECTS} times`);
  }

  /** Writes a reply to the sink. @returns whether it is surely complete */
  async #receive(reply: Reply, { host }: URL): Promise<boolean> {
    if (reply.statusCode === 206) this.#checkRest(reply);
    else this.#begin(reply);
    for await (const chunk of reply.body) {
      this.sink.write(chunk);
      this.#size += chunk.length;
      this.report({ bytes: this.#size, total: this.#total });
    }
    if (this.#total !== null && this.#size !== this.#total)
      throw new Broken(`${host} sent ${this.#size} of ${this.#total} bytes`);
    return this.#total !== null || header(reply, 'transfer-encoding') !== null;
  }

  #begin(reply: Reply): void {
    const encoding = (header(reply, 'content-encoding') ?? 'identity').toLowerCase();
    // gzip and zstd are recognized by their first bytes when the file is read.
    if (!['identity', 'gzip', 'x-gzip', 'zstd'].includes(encoding))
      throw this.#refused(`it is sent with the content-encoding ${encoding}, which is not supported`);
    this.sink.restart();
    this.#size = 0;
    const length = header(reply, 'content-length');
    this.#total = length === null ? null : Number(length);
    const etag = header(reply, 'etag') ?? '';
    this.#etag = /^"[^"]+"$/.test(etag) && header(reply, 'accept-ranges') !== 'none' ? etag : null;
  }

  #checkRest(reply: Reply): void {
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header(reply, 'content-range') ?? '');
    const isNext = Number(range?.[1]) === this.#size;
    const isSame = (header(reply, 'etag') ?? this.#etag) === this.#etag;
    const isAsLong = this.#total === null || range?.[2] === String(this.#total);
    if (!isNext || !isSame || !isAsLong) throw this.#changed();
  }

  /** So the next attempt requests the whole file. */
  #changed(): Broken {
    this.#etag = null;
    const hint = 'import it again when nothing writes to it';
    return new Broken('the file changed while it was downloaded', { hint });
  }

  #redirected(to: string, from: URL): URL {
    const url = URL.canParse(to, from.href) ? new URL(to, from) : null;
    if (!url) throw this.#refused('it redirects to something that is not a URL');
    const stays = url.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(from.hostname);
    if (url.protocol === 'https:' || stays) return url;
    throw this.#refused(`it redirects to ${url.protocol}//${url.host}, and only https:// is followed`);
  }

  #withoutFile(status: number, { host }: URL): Error {
    // 416: the file is shorter than before.
    if (status === 416 && this.#size > 0) return this.#changed();
    const says = `${host} answered ${status}`;
    if ([408, 425, 429].includes(status) || status >= 500) return new Broken(says, { status });
    return this.#refused(says, HINTS[status] ?? 'the address must give the file itself', status);
  }

  /** The failure of a connection. Other errors stay as they are. @param started whether the reply had begun */
  #failure(error: unknown, { protocol, host }: URL, started: boolean): unknown {
    const { timeoutMs, signal, proxy } = this.options;
    if (signal.aborted) return signal.reason;
    if (error instanceof ProfilesError) return error;
    const { code = '', name = '' } = error as NodeJS.ErrnoException;
    if (/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(code)) {
      const problem = { code: 'no_answer_in_time', timeoutMs } as const;
      return new Broken(`${host} sent nothing for ${formatDuration(timeoutMs)}`, { problem });
    }
    if (started || /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(code) || name === 'HTTPParserError')
      return new Broken(lostReason(error, host, started));
    const failure = connectFailure(error, host, settingFor({ protocol }, proxySettings(proxy)));
    const hint = failure.hint?.replace('the base URL', 'the address') ?? 'check the address and the network';
    return new Broken(failure.reason, { hint });
  }

  #refused(sentence: string, hint?: string, status?: number): InputError {
    return new InputError(sentence, { file: this.address.shown, hint, status });
  }
}

const header = ({ headers }: Reply, name: string): string | null => [headers[name] ?? null].flat()[0] ?? null;
