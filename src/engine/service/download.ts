/**
 * Downloads a file from an `https://` address, without the token of the account. Continues after a broken
 * connection if the server supports ranges and confirms with a strong ETag that the file is the same.
 */
import type { Dispatcher } from 'undici';
import { InputError, NetworkError } from '../errors.js';
import { Channel } from '../util/channel.js';
import type { Clock } from '../util/clock.js';
import { formatSize } from '../util/size.js';
import {
  isLoopback,
  type ProxyEnv,
  type ProxySettings,
  proxySettings,
  settingFor,
  type WebAddress,
} from './address.js';
import { attemptFailure, Broken } from './failure.js';
import { backoffDelay } from './retry.js';

const MAX_REDIRECTS = 10;
/** The most attempts in a row that brought almost nothing. One that took the whole deadline counts as half of them. */
const MAX_FAILURES = 5;
const ALMOST_NOTHING = 1_024;
const CONNECT_TIMEOUT_MS = 10_000;
const BACKOFF_MS = 1_000;

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

export interface Downloaded {
  /** False if the server sent neither a length nor chunks: a file that was cut off would look complete. */
  sure: boolean;
}

/**
 * Downloads a file to the sink. Yields the progress after each chunk.
 * @throws InputError if the answer is not the file; NetworkError if all attempts fail; the signal's reason
 */
export async function* download(
  address: Pick<WebAddress, 'url' | 'shown'>,
  sink: Sink,
  options: DownloadOptions,
): AsyncGenerator<Progress, Downloaded> {
  const transfer = new Transfer(address, sink, options);
  const { clock, random, signal } = options;
  let most = 0;
  let failures = 0;
  try {
    for (;;) {
      try {
        return yield* transfer.attempt();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!(error instanceof Broken)) throw error;
        if (transfer.size >= most + ALMOST_NOTHING) [most, failures] = [transfer.size, 0];
        failures += error.details.problem?.code === 'no_answer_in_time' ? MAX_FAILURES / 2 : 1;
        if (failures >= MAX_FAILURES) throw transfer.givenUp(error);
        await clock.sleep(backoffDelay(Math.ceil(failures), BACKOFF_MS, random), signal);
      }
    }
  } finally {
    await transfer.close();
  }
}

type Reply = Dispatcher.ResponseData;
type Progress = { bytes: number; total: number | null };

class Transfer {
  /** Bytes in the sink. */
  size = 0;
  #total: number | null = null;
  /** A strong ETag, which guarantees the same bytes; null if the download cannot be continued. */
  #etag: string | null = null;
  readonly #agents: Dispatcher[] = [];
  readonly #proxy: ProxySettings | null;

  constructor(
    private readonly address: Pick<WebAddress, 'url' | 'shown'>,
    private readonly sink: Sink,
    private readonly options: DownloadOptions,
  ) {
    this.#proxy = proxySettings(options.proxy);
  }

  async *attempt(): AsyncGenerator<Progress, Downloaded> {
    const reply = await this.#ask();
    try {
      this.#begin(reply);
      yield* this.#receive(reply);
    } finally {
      reply.body.on('error', () => {}).destroy();
    }
    if (this.#total !== null && this.size !== this.#total) {
      throw new Broken(`${this.address.url.host} sent ${this.size} of ${this.#total} bytes`);
    }
    return { sure: this.#total !== null || header(reply, 'transfer-encoding') !== null };
  }

  givenUp({ message, details }: Broken): NetworkError {
    const far = this.size > 0 ? ` after ${formatSize(this.size)}` : '';
    return new NetworkError(`${this.address.shown}: the download failed${far}: ${message}`, details);
  }

  async close(): Promise<void> {
    for (const agent of this.#agents) await agent.destroy();
  }

  /** Requests the file, or the rest of it, and follows redirects. */
  async #ask(): Promise<Reply> {
    let { url } = this.address;
    for (let redirects = 0; ; redirects++) {
      const reply = await this.#request(url);
      const to = /^30[12378]$/.test(String(reply.statusCode)) ? header(reply, 'location') : null;
      if (to === null) return this.#checked(reply, url);
      reply.body.on('error', () => {}).destroy();
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
    const { signal } = this.options;
    const resumes = this.size > 0 && this.#etag !== null;
    const agent = await this.#agent(isLoopback(url.hostname));
    try {
      return await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        signal,
        highWaterMark: 16 * 1024 ** 2, // never reached, so that a reply is never paused
        headers: {
          accept: '*/*',
          'accept-encoding': 'identity',
          'user-agent': 'profiles-cli',
          ...(resumes && { range: `bytes=${this.size}-`, 'if-range': this.#etag! }),
        },
      });
    } catch (error) {
      throw this.#failure(error, url, false);
    }
  }

  #checked(reply: Reply, url: URL): Reply {
    const { statusCode: status } = reply;
    if (status === 200 || (status === 206 && this.size > 0)) return reply;
    reply.body.on('error', () => {}).destroy();
    // 416: the file is shorter than before.
    if (status === 416 && this.size > 0) throw this.#changed();
    const says = `${url.host} answered ${status}`;
    if (status === 408 || status === 425 || status === 429 || status >= 500)
      throw new Broken(says, { status });
    if ([401, 403, 410].includes(status)) {
      const hint =
        'a signed link works for a limited time: get a new one. The token of your account is never sent to another server';
      throw this.#refused(says, hint, status);
    }
    throw this.#refused(
      says,
      status === 404 ? 'check the address' : 'the address must give the file itself',
      status,
    );
  }

  /** Prepares for the body of a reply: a 206 continues the file, any other reply begins it again. */
  #begin(reply: Reply): void {
    const etag = header(reply, 'etag');
    if (reply.statusCode === 206) {
      const [, from, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header(reply, 'content-range') ?? '') ?? [];
      const same = etag === null || etag === this.#etag;
      if (Number(from) === this.size && same && (this.#total === null || total === String(this.#total)))
        return;
      throw this.#changed();
    }
    const encoding = (header(reply, 'content-encoding') ?? 'identity').toLowerCase();
    // gzip and zstd are recognized by their first bytes when the file is read.
    if (!['identity', 'gzip', 'x-gzip', 'zstd'].includes(encoding)) {
      throw this.#refused(`it is sent with the content-encoding ${encoding}, which is not supported`);
    }
    this.sink.restart();
    this.size = 0;
    const length = header(reply, 'content-length');
    this.#total = length !== null && /^\d+$/.test(length) ? Number(length) : null;
    const resumable = /^"[^"]+"$/.test(etag ?? '') && header(reply, 'accept-ranges') !== 'none';
    this.#etag = resumable ? etag : null;
  }

  /** Writes each chunk to the sink as it arrives, independently of the consumer of the progress. */
  async *#receive({ body }: Reply): AsyncGenerator<Progress> {
    const arrived = new Channel<Progress>();
    let failure: unknown;
    body.on('data', (chunk: Buffer) => {
      try {
        this.sink.write(chunk);
        this.size += chunk.length;
        arrived.push({ bytes: this.size, total: this.#total });
      } catch (error) {
        body.destroy(error as Error);
      }
    });
    body.once('error', (error) => {
      failure = error;
    });
    body.once('close', () => arrived.close());
    yield* arrived;
    if (failure) throw this.#failure(failure, this.address.url, true);
  }

  /** So the next attempt requests the whole file. */
  #changed(): Broken {
    this.#etag = null;
    return new Broken('the file changed while it was downloaded', {
      hint: 'import it again when nothing writes to it',
    });
  }

  #failure(error: unknown, url: URL, started: boolean): unknown {
    const { timeoutMs, signal } = this.options;
    if (signal.aborted) return signal.reason;
    const proxySetting = this.#proxy ? settingFor(url, this.#proxy) : undefined;
    return attemptFailure(error, {
      shown: this.address.shown,
      host: url.host,
      timeoutMs,
      started,
      proxySetting,
    });
  }

  #refused(sentence: string, hint?: string, status?: number): InputError {
    return new InputError(sentence, { file: this.address.shown, hint, status });
  }

  /** Loopback never goes through a proxy. */
  async #agent(loopback: boolean): Promise<Dispatcher> {
    const { timeoutMs } = this.options;
    const connect = { timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs) };
    const common = { connect, headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
    const { default: undici } = await import('undici'); // the bundled CommonJS module has only a default export
    const agent =
      loopback || this.#proxy === null
        ? new undici.Agent(common)
        : (await import('./proxy.js')).proxyAgent(this.#proxy, { ...common, tunnelTimeoutMs: timeoutMs });
    this.#agents.push(agent);
    return agent;
  }
}

function header({ headers }: Reply, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
