/**
 * Downloads a file from an `https://` address, without the token of the account. Continues after a broken
 * connection if the server supports ranges and confirms with a strong ETag that the file is the same.
 */
import type { Dispatcher } from 'undici';
import { InputError, NetworkError } from '../errors.js';
import { Channel } from '../util/channel.js';
import type { Clock } from '../util/clock.js';
import { formatDuration } from '../util/duration.js';
import { formatSize } from '../util/size.js';
import {
  isLoopback,
  type ProxyEnv,
  type ProxySettings,
  proxySettings,
  settingFor,
  type WebAddress,
} from './address.js';
import { connectFailure, lostReason } from './failure.js';
import { retried } from './retry.js';

const MAX_REDIRECTS = 10;
const CONNECT_TIMEOUT_MS = 10_000;
/** After five attempts in a row that brought nothing more, the download has failed. */
const RETRIES = { retries: 4, retryDelayMs: 1_000, maxRetryAfterMs: 0, busyTimeoutMs: 0 };

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

interface Downloaded {
  /** False if the server sent neither a length nor chunks: a file that was cut off would look complete. */
  sure: boolean;
}

/**
 * Downloads a file to the sink, however slow the consumer is. Yields the progress after each chunk.
 * @throws InputError if the answer is not the file; NetworkError if all attempts fail; the signal's reason
 */
export async function* download(
  address: Pick<WebAddress, 'url' | 'shown'>,
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

type Reply = Dispatcher.ResponseData;
type Progress = { bytes: number; total: number | null };

/** The failure of an attempt after which another one may succeed. */
class Broken extends NetworkError {}

class Transfer {
  /** Bytes in the sink. */
  #size = 0;
  #total: number | null = null;
  /** A strong ETag, which guarantees the same bytes; null if the download cannot be continued. */
  #etag: string | null = null;
  readonly #agents: Dispatcher[] = [];
  readonly #proxy: ProxySettings | null;

  constructor(
    private readonly address: Pick<WebAddress, 'url' | 'shown'>,
    private readonly sink: Sink,
    private readonly options: DownloadOptions,
    private readonly report: (progress: Progress) => void,
  ) {
    this.#proxy = proxySettings(options.proxy);
  }

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
    try {
      const end = await retried(attempt, RETRIES, this.options);
      if (end.do === 'end') return end;
      const far = this.#size > 0 ? ` after ${formatSize(this.#size)}` : '';
      const { hint, problem, status } = end.last!;
      const details = { hint, problem, status };
      throw new NetworkError(`${this.address.shown}: the download failed${far}: ${end.reason}`, details);
    } finally {
      for (const agent of this.#agents) await agent.destroy();
    }
  }

  /** @returns whether the file is surely complete */
  async #attempt(): Promise<boolean> {
    const { reply, url } = await this.#ask();
    try {
      this.#begin(reply);
      for await (const chunk of reply.body) {
        this.sink.write(chunk);
        this.#size += chunk.length;
        this.report({ bytes: this.#size, total: this.#total });
      }
    } catch (error) {
      drop(reply);
      throw this.#failure(error, url, true);
    }
    if (this.#total !== null && this.#size !== this.#total) {
      throw new Broken(`${url.host} sent ${this.#size} of ${this.#total} bytes`);
    }
    return this.#total !== null || header(reply, 'transfer-encoding') !== null;
  }

  /** Requests the file, or the rest of it, and follows redirects. */
  async #ask(): Promise<{ reply: Reply; url: URL }> {
    let { url } = this.address;
    for (let redirects = 0; ; redirects++) {
      const reply = await this.#request(url).catch((error: unknown) => {
        throw this.#failure(error, url, false);
      });
      const { statusCode: status } = reply;
      if (status === 200 || (status === 206 && this.#size > 0)) return { reply, url };
      drop(reply);
      const to = /^30[12378]$/.test(String(status)) ? header(reply, 'location') : null;
      if (to === null) throw this.#withoutFile(status, url);
      if (redirects === MAX_REDIRECTS) throw this.#refused(`it redirects more than ${MAX_REDIRECTS} times`);
      url = this.#redirected(to, url);
    }
  }

  #redirected(to: string, from: URL): URL {
    const url = URL.canParse(to, from.href) ? new URL(to, from) : null;
    if (!url) throw this.#refused('it redirects to something that is not a URL');
    const stays = url.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(from.hostname);
    if (url.protocol === 'https:' || stays) return url;
    throw this.#refused(`it redirects to ${url.protocol}//${url.host}, and only https:// is followed`);
  }

  async #request(url: URL): Promise<Reply> {
    const { signal, timeoutMs } = this.options;
    const { default: undici } = await import('undici'); // the bundled CommonJS module has only a default export
    const how = {
      connect: { timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs) },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    };
    // Loopback never goes through a proxy.
    const agent =
      isLoopback(url.hostname) || this.#proxy === null
        ? new undici.Agent(how)
        : (await import('./proxy.js')).proxyAgent(this.#proxy, { ...how, tunnelTimeoutMs: timeoutMs });
    this.#agents.push(agent);
    return agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      signal,
      highWaterMark: 16 * 1024 ** 2, // never reached, so that a reply is never paused
      headers: {
        accept: '*/*',
        'accept-encoding': 'identity',
        'user-agent': 'profiles-cli',
        ...(this.#size > 0 && this.#etag && { range: `bytes=${this.#size}-`, 'if-range': this.#etag }),
      },
    });
  }

  #withoutFile(status: number, { host }: URL): Error {
    // 416: the file is shorter than before.
    if (status === 416 && this.#size > 0) return this.#changed();
    const says = `${host} answered ${status}`;
    if ([408, 425, 429].includes(status) || status >= 500) return new Broken(says, { status });
    if (status === 404) return this.#refused(says, 'check the address', status);
    const hint = [401, 403, 410].includes(status)
      ? 'a signed link works for a limited time: get a new one. The token of your account is never sent to another server'
      : 'the address must give the file itself';
    return this.#refused(says, hint, status);
  }

  /** Prepares for the body of a reply: a 206 continues the file, any other reply begins it again. */
  #begin(reply: Reply): void {
    const etag = header(reply, 'etag');
    if (reply.statusCode === 206) {
      const [, from, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header(reply, 'content-range') ?? '') ?? [];
      const same = etag === null || etag === this.#etag;
      if (Number(from) === this.#size && same && (this.#total === null || total === String(this.#total)))
        return;
      throw this.#changed();
    }
    const encoding = (header(reply, 'content-encoding') ?? 'identity').toLowerCase();
    // gzip and zstd are recognized by their first bytes when the file is read.
    if (!['identity', 'gzip', 'x-gzip', 'zstd'].includes(encoding)) {
      throw this.#refused(`it is sent with the content-encoding ${encoding}, which is not supported`);
    }
    this.sink.restart();
    this.#size = 0;
    const length = header(reply, 'content-length');
    this.#total = length !== null && /^\d+$/.test(length) ? Number(length) : null;
    const resumable = /^"[^"]+"$/.test(etag ?? '') && header(reply, 'accept-ranges') !== 'none';
    this.#etag = resumable ? etag : null;
  }

  /** So the next attempt requests the whole file. */
  #changed(): Broken {
    this.#etag = null;
    return new Broken('the file changed while it was downloaded', {
      hint: 'import it again when nothing writes to it',
    });
  }

  /** The failure of a connection. Other errors stay as they are. @param started whether the reply had begun */
  #failure(error: unknown, { protocol, host }: URL, started: boolean): unknown {
    const { timeoutMs, signal } = this.options;
    if (signal.aborted) return signal.reason;
    const { code = '', name = '' } = error as NodeJS.ErrnoException;
    if (/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(code)) {
      const problem = { code: 'no_answer_in_time', timeoutMs } as const;
      return new Broken(`${host} sent nothing for ${formatDuration(timeoutMs)}`, { problem });
    }
    const isLost = /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(code) || name === 'HTTPParserError';
    if (isLost || (started && code.startsWith('UND_ERR')))
      return new Broken(lostReason(error, host, started));
    if (started) return error;
    const setting = this.#proxy ? settingFor({ protocol }, this.#proxy) : undefined;
    const { reason, tls, hint } = connectFailure(error, host, setting);
    if (!tls && code !== 'ENOTFOUND') return new Broken(reason);
    return new NetworkError(`${this.address.shown}: ${reason}`, {
      hint: hint?.replace('the base URL', 'the address') ?? 'check the address and the network',
      cause: error,
    });
  }

  #refused(sentence: string, hint?: string, status?: number): InputError {
    return new InputError(sentence, { file: this.address.shown, hint, status });
  }
}

/** Reads no more of a reply. */
function drop({ body }: Reply): void {
  body.on('error', () => {}).destroy();
}

function header({ headers }: Reply, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
